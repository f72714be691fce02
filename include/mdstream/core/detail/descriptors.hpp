#pragma once

/// File descriptors, of which a process has few.

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace mdstream::inline v0::detail {

/// Whether a failure (an `errno` value) says nothing of the file that was to be opened.
[[nodiscard]] constexpr bool lacks_descriptors(int value) noexcept {
  return value == EMFILE || value == ENFILE;
}

/// Descriptors that this process may still open. Costs a look at each that is open.
[[nodiscard]] std::size_t free_descriptors();

/// How much work that takes some of them may be under way: leaves most of those that are free to
/// others; some in any case, which then waits.
[[nodiscard]] inline std::size_t most_at_once() {
  return std::max<std::size_t>(free_descriptors() / 8, 4);
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/descriptors.ipp>
#endif
