#pragma once

/// What is under way on behalf of an object, and who waits for the end of all of it.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

namespace mdstream::inline v0::detail {

/// Completions and pool tasks that will still touch their owner. Everything is called under the
/// owner's lock.
class activity {
 public:
  explicit activity(runtime& threads) noexcept : threads_(threads) {}

  void begin(std::size_t count = 1) noexcept { count_ += count; }
  /// The owner may be gone as soon as the lock is given up.
  void finish_one();

  [[nodiscard]] bool is_idle() const noexcept { return count_ == 0; }
  void wait_idle(std::unique_lock<std::mutex>& lock);
  /// Instead of waiting, where it is not idle: `then`, which may destroy the owner, is called on
  /// the pool when it is.
  void when_idle(unique_function<void()> then) { then_ = std::move(then); }

 private:
  runtime& threads_;
  std::condition_variable idle_;
  unique_function<void()> then_;
  std::size_t count_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/activity.ipp>
#endif
