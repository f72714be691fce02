#pragma once

/// File descriptors, of which a process has few.

#include <mdstream/version.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <system_error>

namespace mdstream::inline v0::detail {

/// Descriptors that this process may still open. Costs a look at each that is open.
[[nodiscard]] inline std::size_t free_descriptors() {
  struct rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return 0;
  std::error_code failure;
  rlim_t open = 0;
  std::filesystem::directory_iterator at("/proc/self/fd", failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) ++open;
  return failure ? 0 : static_cast<std::size_t>(most.rlim_cur - std::min(most.rlim_cur, open));
}

/// How much work that takes some of them may be under way: leaves most of those that are free to
/// others; some in any case, which then waits.
[[nodiscard]] inline std::size_t most_at_once() {
  return std::max<std::size_t>(free_descriptors() / 8, 4);
}

}  // namespace mdstream::inline v0::detail
