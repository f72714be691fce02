#pragma once

// A line between a client and an HTTP server that fails by chance, with a seed: before a request is
// passed on, after the server has done it, and in the middle of the answer. What comes through is
// what was sent, signatures included.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>

#include "support/scripted_server.hpp"
#include "support/upstream.hpp"

namespace support {

class fault_proxy {
 public:
  // `server` is http://host:port. Of a hundred requests, so many fail.
  fault_proxy(const std::string& server, unsigned percent, std::uint64_t seed)
      : server_(server),
        percent_(percent),
        random_(seed),
        line_([this](connection& to, const scripted_request& request) { pass(to, request); }) {}

  [[nodiscard]] std::string url() const { return line_.url(); }
  [[nodiscard]] std::size_t faults() const { return faults_; }

 private:
  using connection = scripted_server::connection;

  enum class fault : std::uint8_t { reset, closed, refused, lost, failed, cut, cut_by_reset, none };

  struct chance {
    fault what;
    std::uint64_t where;  // anything
  };
  chance draw() {
    const std::lock_guard lock(mutex_);
    if (random_() % 100 >= percent_) return {fault::none, 0};
    ++faults_;
    return {static_cast<fault>(random_() % static_cast<unsigned>(fault::none)), random_()};
  }

  void pass(connection& to, const scripted_request& request) {
    const auto [what, where] = draw();
    switch (what) {
      case fault::reset: return to.reset();
      case fault::closed: return to.close();
      case fault::refused: return void(to.answer("503 Slow Down", "", "Retry-After: 0\r\n"));
      default: break;
    }
    const std::string answer = server_.ask(request);
    switch (what) {
      case fault::lost: return to.close();
      case fault::failed: return void(to.answer("500 Internal Server Error", ""));
      case fault::cut: return void(to.send(answer.substr(0, where % answer.size()))), to.close();
      case fault::cut_by_reset:
        return void(to.send(answer.substr(0, where % answer.size()))), to.reset();
      default: to.send(answer);
    }
  }

  const upstream server_;
  const unsigned percent_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<std::size_t> faults_{0};
  scripted_server line_;  // last: its threads use what stands above
};

}  // namespace support
