#pragma once

/// Counts the work in progress for an owner, which ends after all of it.

#include <mdstream/core/detail/unique_function.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace mdstream::inline v0::detail {

/// Thread-safe.
class work_count {
 public:
  void begin(std::size_t count = 1);
  /// Call without the owner's lock: the owner may be destroyed before this returns.
  void end();
  [[nodiscard]] bool is_idle() const;
  void wait_idle();
  /// Instead of waiting: calls `then`, which may destroy this, at once if nothing is in progress,
  /// else when the last of it ends. After this call only work in progress may call `begin`.
  void when_idle(unique_function<void()> then);

 private:
  mutable std::mutex mutex_;
  std::condition_variable idle_;
  unique_function<void()> then_;
  std::size_t count_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/work_count.ipp>
#endif
