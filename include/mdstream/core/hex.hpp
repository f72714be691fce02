#pragma once

/// Hexadecimal digits.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace mdstream::inline v0 {

/// Lower-case hexadecimal digits, two a byte.
[[nodiscard]] inline std::string to_hex(bytes_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const std::byte b : bytes) {
    const auto value = std::to_integer<unsigned>(b);
    out += digits[value >> 4];
    out += digits[value & 15];
  }
  return out;
}

namespace detail {

/// Sixteen hexadecimal digits, the highest first.
[[nodiscard]] inline std::string hex_digits(std::uint64_t value) {
  std::string out(16, '0');
  for (auto at = out.rbegin(); value != 0; value >>= 4) *at++ = "0123456789abcdef"[value & 15];
  return out;
}

}  // namespace detail

/// The value of a hexadecimal digit of either case; -1 where it is none.
[[nodiscard]] constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace mdstream::inline v0
