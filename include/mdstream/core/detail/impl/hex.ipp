#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/version.hpp>

#include <cstddef>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string to_hex(bytes_view bytes) {
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

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string hex_digits(std::uint64_t value) {
  std::string out(16, '0');
  for (auto at = out.rbegin(); value != 0; value >>= 4) *at++ = "0123456789abcdef"[value & 15];
  return out;
}

}  // namespace mdstream::inline v0::detail
