#pragma once

// A disk that fails: calls on files fail where a test says. Link tests/faults/disk.cpp.

#include <cstddef>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace support {

namespace detail {

struct disk_plan {
  std::mutex mutex;
  std::string below;                // only calls on files below this directory count; empty: none
  int error = 0;                    // errno of the calls that fail
  std::size_t number = 0;           // of the first that fails, from 1
  bool lasts = false;               // all later ones fail, too
  std::size_t calls = 0;            // so far
  std::vector<std::string> failed;  // those that failed: function, blank, path
};
inline disk_plan plan;

}  // namespace detail

/// While it lives, the `number`-th call of all threads on a file below a directory fails with this
/// errno, or that and all after it. With ENOSPC, only calls that need room on the disk count.
class failing_disk {
 public:
  failing_disk(std::string below, int error, std::size_t number, bool lasts) {
    const std::lock_guard lock(detail::plan.mutex);
    detail::plan.below = std::move(below) + '/';
    detail::plan.error = error;
    detail::plan.number = number;
    detail::plan.lasts = lasts;
    detail::plan.calls = 0;
    detail::plan.failed.clear();
  }
  failing_disk(const failing_disk&) = delete;
  failing_disk& operator=(const failing_disk&) = delete;
  ~failing_disk() { (void)end(); }

  /// Lets all further calls succeed. Returns those that failed, in their order: the function's
  /// name, a blank, the path.
  std::vector<std::string> end() {
    const std::lock_guard lock(detail::plan.mutex);
    detail::plan.below.clear();
    return std::exchange(detail::plan.failed, {});
  }
};

}  // namespace support
