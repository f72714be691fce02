#pragma once

#include <mdstream/stream/detail/activity.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void activity::finish_one() {
  if (--count_ != 0) return;
  idle_.notify_all();
  if (then_) threads_.post(std::exchange(then_, {}));
}

MDSTREAM_INLINE void activity::wait_idle(std::unique_lock<std::mutex>& lock) {
  idle_.wait(lock, [this] { return count_ == 0; });
}

}  // namespace mdstream::inline v0::detail
