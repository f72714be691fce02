#pragma once

/// Checking and taking apart UTF-8.

#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

namespace detail {

/// Number of leading bytes of `text` that are ASCII, 32 at a time: most texts are nothing else.
[[nodiscard]] inline std::size_t ascii_blocks(std::string_view text) noexcept {
  std::size_t at = 0;
  while (text.size() - at >= 32) {
    std::uint64_t words[4];
    std::memcpy(words, text.data() + at, 32);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080'8080'8080'8080U) != 0) break;
    at += 32;
  }
  return at;
}

}  // namespace detail

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
[[nodiscard]] inline std::size_t first_invalid_utf8(std::string_view text,
                                                    bool surrogates = false) noexcept {
  std::size_t at = detail::ascii_blocks(text);
  while (at < text.size()) {
    const code_point next = decode_utf8(text.substr(at), surrogates);
    if (next.bytes == 0) return at;
    at += next.bytes;
    if (next.bytes == 1 && text.size() - at >= 32) at += detail::ascii_blocks(text.substr(at));
  }
  return at;
}

/// Adds the UTF-8 form of `value`; surrogates in three bytes. Precondition: at most U+10FFFF.
inline void append_utf8(std::string& out, char32_t value) {
  const auto add = [&out](char32_t byte) { out += static_cast<char>(byte); };
  if (value < 0x80) return add(value);
  if (value < 0x800) {
    add(0xC0 | value >> 6);
  } else {
    if (value < 0x10000) {
      add(0xE0 | value >> 12);
    } else {
      add(0xF0 | value >> 18);
      add(0x80 | (value >> 12 & 0x3F));
    }
    add(0x80 | (value >> 6 & 0x3F));
  }
  add(0x80 | (value & 0x3F));
}

}  // namespace mdstream::inline v0
