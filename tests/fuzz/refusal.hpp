#pragma once

// What targets share: input that may be refused, and conditions that hold for any input.

#include <mdstream/core/error.hpp>

#include <cstdlib>
#include <string_view>

namespace fuzz {

/// Runs what may refuse its input.
template <class F>
void allow_refusal(F run) {
  try {
    run();
  } catch (const mdstream::error&) {
  }
}

inline void require(bool condition) {
  if (!condition) std::abort();
}

/// The input up to its first line break, which is taken off.
inline std::string_view take_line(std::string_view& input) {
  const std::size_t end = input.find('\n');
  const std::string_view line = input.substr(0, end);
  input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  return line;
}

}  // namespace fuzz
