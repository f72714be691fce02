#pragma once

// What targets share: input that may be refused, and conditions that hold for any input.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>

#include <cstddef>
#include <cstdint>
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

/// The input's first part, whose size is a u32 in front of it; both are taken off.
inline std::string_view take_part(std::string_view& input) {
  if (input.size() < 4) return {};
  const std::size_t size = mdstream::load<std::uint32_t>(mdstream::as_bytes(input).data());
  const std::string_view part = input.substr(4, size);
  input.remove_prefix(4 + part.size());
  return part;
}

}  // namespace fuzz
