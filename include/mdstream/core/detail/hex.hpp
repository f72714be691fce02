#pragma once

/// Hexadecimal digits.

#include <mdstream/core/bytes.hpp>

#include <cstdint>
#include <string>

namespace mdstream::inline v0::detail {

/// Lower-case hexadecimal digits, two a byte.
[[nodiscard]] std::string to_hex(bytes_view bytes);

/// Sixteen hexadecimal digits, the highest first.
[[nodiscard]] std::string hex_digits(std::uint64_t value);

/// The value of a hexadecimal digit of either case; -1 where it is none.
[[nodiscard]] constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/hex.ipp>
#endif
