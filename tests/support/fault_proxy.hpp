#pragma once

// A line between a client and an HTTP server that fails by chance, with a seed: before a request is
// passed on, after the server has done it, and in the middle of the answer. What comes through is
// what was sent, signatures included.

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "support/scripted_server.hpp"

namespace support {

class fault_proxy {
 public:
  // `server` is http://host:port. Of a hundred requests, so many fail.
  fault_proxy(const std::string& server, unsigned percent, std::uint64_t seed)
      : host_(server.substr(7, server.rfind(':') - 7)),
        port_(server.substr(server.rfind(':') + 1)),
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
    const std::string answer = ask(request);
    switch (what) {
      case fault::lost: return to.close();
      case fault::failed: return void(to.answer("500 Internal Server Error", ""));
      case fault::cut: return void(to.send(answer.substr(0, where % answer.size()))), to.close();
      case fault::cut_by_reset:
        return void(to.send(answer.substr(0, where % answer.size()))), to.reset();
      default: to.send(answer);
    }
  }

  // The server's whole answer, which ends its connection, but not the client's.
  [[nodiscard]] std::string ask(const scripted_request& request) const {
    std::string head = request.method + ' ' + request.target + " HTTP/1.1\r\nConnection: close\r\n";
    for (const auto& [name, value] : request.headers) {
      if (name != "connection" && name != "expect") head += name + ": " + value + "\r\n";
    }
    const int socket = connect_to_server();
    std::string answer;
    if (send_all(socket, head + "\r\n") && send_all(socket, request.body)) {
      char buffer[16384];
      for (ssize_t got = 0; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;) {
        answer.append(buffer, static_cast<std::size_t>(got));
      }
    }
    ::close(socket);
    if (answer.empty()) return "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    const std::size_t at = answer.find("\r\nConnection: close\r\n");
    return at < answer.find("\r\n\r\n") ? answer.erase(at, 19) : answer;
  }

  [[nodiscard]] int connect_to_server() const {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    if (::getaddrinfo(host_.c_str(), port_.c_str(), &hints, &found) != 0) {
      throw std::runtime_error("the server has no address");
    }
    const int socket = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)::connect(socket, found->ai_addr, found->ai_addrlen);  // if not, `send` fails
    ::freeaddrinfo(found);
    return socket;
  }

  static bool send_all(int socket, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (put <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return true;
  }

  const std::string host_, port_;
  const unsigned percent_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::atomic<std::size_t> faults_{0};
  scripted_server line_;  // last: its threads use what stands above
};

}  // namespace support
