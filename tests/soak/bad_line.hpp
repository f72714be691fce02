#pragma once

// A line to a storage server that throttles, stalls, cuts, corrupts, tells other versions of
// objects than they have and lies about their lengths, by chance, with a seed. Bytes of an index
// are spared from what no client could notice.

#include <atomic>
#include <charconv>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

#include "support/scripted_server.hpp"
#include "support/upstream.hpp"

namespace soak {

class bad_line {
 public:
  // `server` is http://host:port. Until `mend`, four of five requests for shards fail, but no more
  // than three in a row for one object: pauses between the attempts of a request grow, and a run
  // that waits for the longest of them meets few faults. One of sixteen objects has no such bound.
  // Of the other requests (indexes, which all processes ask for) every other one fails.
  bad_line(const std::string& server, std::uint64_t seed)
      : server_(server),
        random_(seed),
        line_([this](connection& to, const support::scripted_request& request) {
          pass(to, request);
        }) {}

  [[nodiscard]] std::string url() const { return line_.url(); }
  [[nodiscard]] std::size_t faults() const { return faults_; }
  /// Answers that brought a shard's last byte and nothing that a client has to refuse.
  [[nodiscard]] std::size_t good_ends() const { return good_ends_; }
  [[nodiscard]] std::string counts() const {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (const auto& [what, count] : counts_) {
      out += (out.empty() ? "" : ", ") + std::string(names[static_cast<std::size_t>(what)]) + ' ' +
             std::to_string(count);
    }
    return out;
  }
  /// Of a hundred requests, so many had a fault.
  [[nodiscard]] unsigned percent() const {
    return requests_ == 0 ? 0 : static_cast<unsigned>(100 * faults_ / requests_);
  }
  void mend() { is_mended_ = true; }

 private:
  using connection = support::scripted_server::connection;

  enum class fault : std::uint8_t {
    throttled,
    asked_to_wait,
    failed,
    reset,
    closed,
    cut,
    cut_by_reset,
    stalled,  // of anything
    corrupt,
    other_version,
    longer,
    shorter,
    other_total,  // of shards alone
    none,
  };
  static constexpr std::string_view names[] = {
      "throttled",     "asked to wait", "failed",      "reset",     "closed",
      "cut",           "cut by reset",  "stalled",     "corrupted", "version",
      "promised more", "less",          "lied of size"};

  static constexpr unsigned most_in_a_row = 3;

  struct chance {
    fault what;
    std::uint64_t where;  // anything
  };
  chance draw(const std::string& object, bool shard) {
    const std::lock_guard lock(mutex_);
    unsigned& failed = in_a_row_[object];
    const bool is_bounded = shard && std::hash<std::string>()(object) % 16 != 0;
    const bool fails = random_() % 100 < (shard ? 80 : 50) && !is_mended_ &&
                       !(is_bounded && failed >= most_in_a_row);
    failed = fails ? failed + 1 : 0;
    const std::uint64_t kinds = static_cast<unsigned>(shard ? fault::none : fault::corrupt);
    chance out{fails ? static_cast<fault>(random_() % kinds) : fault::none, random_()};
    // A client waits for seconds before it gives such a request up.
    if (out.what == fault::stalled && random_() % 5 != 0) out.what = fault::closed;
    if (!is_mended_) ++requests_;
    if (fails) {
      ++faults_;
      ++counts_[out.what];
    }
    return out;
  }

  void pass(connection& to, const support::scripted_request& request) {
    line_.forget_requests();
    const bool shard =
        request.method == "GET" && request.target.find("shard.") != std::string::npos;
    const auto [what, where] = draw(request.target.substr(0, request.target.find('?')), shard);
    switch (what) {
      case fault::throttled: return void(to.answer("503 Slow Down", "", "Retry-After: 0\r\n"));
      case fault::asked_to_wait: return void(to.answer("429 Later", "", "Retry-After: 1\r\n"));
      case fault::failed: return void(to.answer("500 Internal Server Error", ""));
      case fault::reset: return to.reset();
      case fault::closed: return to.close();
      default: break;
    }
    std::string answer = server_.ask(request);
    const bool good = answer.starts_with("HTTP/1.1 20");
    const std::size_t body = answer.find("\r\n\r\n") + 4, size = answer.size() - body;
    const std::string part = answer.substr(0, where % answer.size());
    switch (what) {
      case fault::cut: return void(to.send(part)), to.close();
      case fault::cut_by_reset: return void(to.send(part)), to.reset();
      case fault::stalled:
        (void)to.send(part);
        (void)to.wait(std::chrono::minutes(5));  // for the client to go
        return to.close();
      default: break;
    }
    if (good && size != 0) {
      switch (what) {
        case fault::corrupt:
          answer[body + where % size] ^= static_cast<char>(1 + where % 255);
          break;
        case fault::other_version:
          change(answer, "etag: \"", where);
          change(answer, "x-goog-generation: ", where);
          if (where % 2 == 0) {  // else it is not even noticed
            (void)to.send(answer.substr(0, body + where % size));
            return to.close();
          }
          break;
        case fault::longer:
          set_length(answer, size + 1 + where % 100);
          (void)to.send(answer);
          return to.close();
        case fault::shorter:
          set_length(answer, size - 1 - where % size);
          answer.resize(answer.find("\r\n\r\n") + 4 + size - 1 - where % size);
          break;
        case fault::other_total: {
          const std::size_t range = find_header(answer, "content-range: ");
          const std::size_t slash = answer.find('/', range);
          if (range != std::string::npos && slash < body) answer.insert(slash + 1, "1");
          break;
        }
        default: break;
      }
    }
    const bool sent = to.send(answer);
    if (sent && shard && good && (what == fault::none || what == fault::other_version))
      ++good_ends_;
  }

  /// Behind the name of a header; npos where there is none. Names are as they are written.
  static std::size_t find_header(const std::string& answer, std::string_view name) {
    const std::size_t end = answer.find("\r\n\r\n");
    for (std::size_t at = answer.find("\r\n"); at < end; at = answer.find("\r\n", at + 2)) {
      bool same = at + 2 + name.size() <= end;
      for (std::size_t i = 0; same && i < name.size(); ++i) {
        const char c = answer[at + 2 + i];
        same = (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) == name[i];
      }
      if (same) return at + 2 + name.size();
    }
    return std::string::npos;
  }
  static void change(std::string& answer, std::string_view header, std::uint64_t how) {
    const std::size_t at = find_header(answer, header);
    if (at == std::string::npos) return;
    char& digit = answer[at];
    const char other = static_cast<char>('1' + how % 9);
    digit = digit == other ? (other == '9' ? '1' : static_cast<char>(other + 1)) : other;
  }
  static void set_length(std::string& answer, std::size_t length) {
    const std::size_t at = find_header(answer, "content-length: ");
    if (at != std::string::npos)
      answer.replace(at, answer.find("\r\n", at) - at, std::to_string(length));
  }

  const support::upstream server_;
  std::atomic<bool> is_mended_{false};
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<fault, std::size_t> counts_{};
  std::map<std::string, unsigned> in_a_row_{};
  std::atomic<std::size_t> requests_{0}, faults_{0}, good_ends_{0};
  support::scripted_server line_;  // last: its threads use what stands above
};

}  // namespace soak
