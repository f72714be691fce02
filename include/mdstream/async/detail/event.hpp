#pragma once

/// An event that one thread waits for and another sets, once.

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace mdstream::inline v0::detail {

/// May be destroyed as soon as `wait` has returned: `set` no longer touches it then.
class one_time_event {
 public:
  void set();
  void wait();
  /// Waits so long at most; whether it is set. As with `wait`, `set` no longer touches one that
  /// was.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds most);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/event.ipp>
#endif
