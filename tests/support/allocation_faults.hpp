#pragma once

// Memory that runs out: malloc, and with it operator new, fails where a test says. For programs
// that no sanitizer watches, as those have a malloc of their own. Link tests/faults/malloc.cpp.

#include <cerrno>
#include <cstddef>

namespace support {

namespace detail {

struct planned_fault {
  std::size_t calls_left = 0;  // until the first that fails, which is counted; 0: none is planned
  bool lasts = false;
  bool happened = false;
};
inline thread_local planned_fault fault;

[[nodiscard]] inline bool fails_now() noexcept {
  planned_fault& plan = fault;
  if (plan.calls_left == 0) return false;
  if (plan.calls_left > 1) return --plan.calls_left, false;
  if (!plan.lasts) plan.calls_left = 0;
  plan.happened = true;
  errno = ENOMEM;
  return true;
}

}  // namespace detail

/// While it lives, the `number`-th allocation of this thread fails, or that and all after it.
class failing_allocation {
 public:
  explicit failing_allocation(std::size_t number, bool lasts = false) noexcept {
    detail::fault = {.calls_left = number, .lasts = lasts};
  }
  failing_allocation(const failing_allocation&) = delete;
  failing_allocation& operator=(const failing_allocation&) = delete;
  ~failing_allocation() { end(); }

  /// Lets all further allocations succeed. Returns whether one failed.
  bool end() noexcept {
    detail::fault.calls_left = 0;
    return detail::fault.happened;
  }
};

}  // namespace support
