#pragma once

/// An event that one thread waits for and another sets, once.

#include <mdstream/version.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace mdstream::inline v0 {

/// May be destroyed as soon as `wait` has returned: `set` no longer touches it then.
class one_time_event {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }
  /// Waits so long at most; whether it is set. As with `wait`, `set` no longer touches one that
  /// was.
  [[nodiscard]] bool wait_for(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace mdstream::inline v0
