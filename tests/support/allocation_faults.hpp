#pragma once

// Memory that runs out: malloc, and with it operator new, fails where a test says. For programs
// that no sanitizer watches, as those have a malloc of their own. Link tests/faults/malloc.cpp.

#include <atomic>
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
inline std::atomic<long> calls_left_of_all{0};  // below 1: none fails any more

[[nodiscard]] inline bool fails_now() noexcept {
  planned_fault& plan = fault;
  if (plan.calls_left == 0) return false;
  if (plan.calls_left > 1) return --plan.calls_left, false;
  if (!plan.lasts) plan.calls_left = 0;
  plan.happened = true;
  errno = ENOMEM;
  return true;
}

/// Of malloc alone, which is what `new` calls: glibc itself ends a process where its calloc for a
/// thread's own objects fails.
[[nodiscard]] inline bool fails_for_all() noexcept {
  if (calls_left_of_all.load(std::memory_order_relaxed) < 1) return false;
  return calls_left_of_all.fetch_sub(1) == 1;
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

/// While it lives, the `number`-th allocation of all threads together fails.
class failing_allocation_of_all {
 public:
  explicit failing_allocation_of_all(std::size_t number) noexcept {
    detail::calls_left_of_all = static_cast<long>(number);
  }
  failing_allocation_of_all(const failing_allocation_of_all&) = delete;
  failing_allocation_of_all& operator=(const failing_allocation_of_all&) = delete;
  ~failing_allocation_of_all() { end(); }

  /// Lets all further allocations succeed. Returns whether one failed.
  bool end() noexcept { return detail::calls_left_of_all.exchange(0) < 1; }
};

}  // namespace support
