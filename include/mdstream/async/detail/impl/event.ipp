#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void one_time_event::set() {
  const std::lock_guard lock(mutex_);
  is_set_ = true;
  changed_.notify_all();
}

MDSTREAM_INLINE void one_time_event::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return is_set_; });
}

MDSTREAM_INLINE bool one_time_event::wait_for(std::chrono::nanoseconds most) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [this] { return is_set_; });
}

}  // namespace mdstream::inline v0::detail
