#pragma once

/// What is under way on behalf of an object, and who waits for the end of all of it.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/unique_function.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace mdstream::inline v0 {

/// Completions and pool tasks that will still touch their owner. Everything is called under the
/// owner's lock.
class activity {
 public:
  explicit activity(runtime& threads) noexcept : threads_(threads) {}

  void begin(std::size_t count = 1) noexcept { count_ += count; }
  /// The owner may be gone as soon as the lock is given up.
  void finish_one() {
    if (--count_ != 0) return;
    idle_.notify_all();
    if (then_) threads_.post(std::exchange(then_, {}));
  }

  [[nodiscard]] bool is_idle() const noexcept { return count_ == 0; }
  void wait_idle(std::unique_lock<std::mutex>& lock) {
    idle_.wait(lock, [this] { return count_ == 0; });
  }
  /// Instead of waiting, where it is not idle: `then`, which may destroy the owner, is called on
  /// the pool when it is.
  void when_idle(unique_function<void()> then) { then_ = std::move(then); }

 private:
  runtime& threads_;
  std::condition_variable idle_;
  unique_function<void()> then_;
  std::size_t count_ = 0;
};

}  // namespace mdstream::inline v0
