#pragma once

/// Protocols: decisions in terms of requests to a store, one at a time, and of their answers.
///
/// A protocol is a coroutine that waits for answers and knows neither store nor clock nor threads:
/// its driver takes its request, carries that out (or pretends to, in tests: fails, forgets
/// the answer, never comes back) and gives it the answer.

#include <mdstream/core/error.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

struct protocol_request {
  enum class verb : std::uint8_t {
    list,    ///< all objects whose key begins with `keys[0]`
    read,    ///< each of `keys` as a whole; one that does not exist is no failure
    write,   ///< `bytes` as `keys[0]`
    create,  ///< likewise, unless there is one; as `write` where the store knows no conditions
    remove,  ///< each of `keys`
    pause,
  };
  verb what{};
  std::vector<std::string> keys{};
  std::string bytes{};
  std::chrono::milliseconds pause{};
};

struct protocol_answer {
  std::error_code failure{};  ///< of any of its parts, after all repetitions
  diagnostics where{};
  std::vector<object_info> listing{};
  std::vector<std::optional<std::string>> found{};  ///< of `read`, for each key
  bool created = true;                              ///< of `create`
};

/// Between one protocol, with those that it calls, and its driver.
class protocol_channel {
 public:
  /// An answer that is waited for.
  class operation {
   public:
    explicit operation(protocol_channel& channel) noexcept : channel_(channel) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { channel_.waiting_ = waiting; }
    [[nodiscard]] protocol_answer await_resume() noexcept { return std::move(channel_.answer_); }

   private:
    protocol_channel& channel_;
  };

  [[nodiscard]] operation ask(protocol_request::verb what, std::vector<std::string> keys,
                              std::string bytes = {});
  [[nodiscard]] operation list(std::string prefix) {
    return ask(protocol_request::verb::list, one(std::move(prefix)));
  }
  [[nodiscard]] operation read(std::string key) {
    return ask(protocol_request::verb::read, one(std::move(key)));
  }
  [[nodiscard]] operation read_all(std::vector<std::string> keys) {
    return ask(protocol_request::verb::read, std::move(keys));
  }
  [[nodiscard]] operation write(std::string key, std::string bytes);
  [[nodiscard]] operation create(std::string key, std::string bytes);
  [[nodiscard]] operation remove(std::vector<std::string> keys) {
    return ask(protocol_request::verb::remove, std::move(keys));
  }
  [[nodiscard]] operation pause(std::chrono::milliseconds time);

  [[nodiscard]] const protocol_request& request() const noexcept { return request_; }
  void answer(protocol_answer with);

 private:
  static std::vector<std::string> one(std::string key);

  protocol_request request_;
  protocol_answer answer_;
  std::coroutine_handle<> waiting_;
};

/// Throws what failed, after `what` was tried.
protocol_answer require(protocol_answer answer, const char* what);

/// A protocol in progress; other protocols may await it. What it finds it writes to an argument.
class [[nodiscard]] protocol {
 public:
  struct promise_type {
    std::exception_ptr failure{};
    std::coroutine_handle<> caller = std::noop_coroutine();

    protocol get_return_object() noexcept;
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct back {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
          return done.promise().caller;
        }
        void await_resume() noexcept {}
      };
      return back{};
    }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };

  protocol(protocol&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  protocol& operator=(protocol&&) = delete;
  ~protocol() {
    if (frame_) frame_.destroy();
  }

  /// Runs to the first request, or to the end.
  void start() { frame_.resume(); }
  [[nodiscard]] bool done() const noexcept { return frame_.done(); }
  /// Throws what it threw. Precondition: `done()`.
  void finish();

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> caller) noexcept;
  void await_resume() { finish(); }

 private:
  explicit protocol(std::coroutine_handle<promise_type> frame) noexcept : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

/// Drives a protocol to its end: `perform` carries out a request and returns the answer.
void run_protocol(protocol_channel& channel, protocol made,
                  const std::function<protocol_answer(const protocol_request&)>& perform);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/protocol.ipp>
#endif
