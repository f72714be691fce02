#pragma once

/// Checking and taking apart UTF-8.

#include <cstddef>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// A code point and the bytes it took; no bytes where there is no valid one.
struct code_point {
  char32_t value = 0;
  std::size_t bytes = 0;
};

/// The code point that `text` begins with. Overlong forms and values above U+10FFFF are invalid;
/// surrogates are, unless `surrogates` allows them (in three bytes each, as Python's JSON text can
/// bring them in).
[[nodiscard]] constexpr code_point decode_utf8(std::string_view text,
                                               bool surrogates = false) noexcept {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (text.empty()) return {};
  const unsigned first = byte(0);
  if (first < 0x80) return {static_cast<char32_t>(first), 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t value = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < smallest[length] || value > 0x10FFFF) return {};
  if (value >= 0xD800 && value <= 0xDFFF && !surrogates) return {};
  return {value, length};
}

/// Offset of the first byte that is not valid UTF-8; `text.size()` if all of it is.
[[nodiscard]] std::size_t first_invalid_utf8(std::string_view text,
                                             bool surrogates = false) noexcept;

/// Adds the UTF-8 form of `value`; surrogates in three bytes. Precondition: at most U+10FFFF.
void append_utf8(std::string& out, char32_t value);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/utf8.ipp>
#endif
