#pragma once

#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void work_count::begin(std::size_t count) {
  const std::lock_guard lock(mutex_);
  count_ += count;
}

MDSTREAM_INLINE void work_count::end() {
  unique_function<void()> then;
  {
    const std::lock_guard lock(mutex_);
    if (--count_ != 0) return;
    idle_.notify_all();
    then = std::exchange(then_, {});
  }
  if (then) then();
}

MDSTREAM_INLINE bool work_count::is_idle() const {
  const std::lock_guard lock(mutex_);
  return count_ == 0;
}

MDSTREAM_INLINE void work_count::wait_idle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return count_ == 0; });
}

MDSTREAM_INLINE void work_count::when_idle(unique_function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    if (count_ != 0) {
      then_ = std::move(then);
      return;
    }
  }
  then();
}

}  // namespace mdstream::inline v0::detail
