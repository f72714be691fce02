#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <cstring>

namespace mdstream::inline v0::detail {

/// Number of leading bytes of `text` that are ASCII, 32 at a time: most texts are nothing else.
MDSTREAM_INLINE std::size_t ascii_blocks(std::string_view text) noexcept {
  std::size_t at = 0;
  while (text.size() - at >= 32) {
    std::uint64_t words[4];
    std::memcpy(words, text.data() + at, 32);
    if (((words[0] | words[1] | words[2] | words[3]) & 0x8080'8080'8080'8080U) != 0) break;
    at += 32;
  }
  return at;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::size_t first_invalid_utf8(std::string_view text, bool surrogates) noexcept {
  std::size_t at = detail::ascii_blocks(text);
  while (at < text.size()) {
    const code_point next = decode_utf8(text.substr(at), surrogates);
    if (next.bytes == 0) return at;
    at += next.bytes;
    if (next.bytes == 1 && text.size() - at >= 32) at += detail::ascii_blocks(text.substr(at));
  }
  return at;
}

MDSTREAM_INLINE void append_utf8(std::string& out, char32_t value) {
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

}  // namespace mdstream::inline v0::detail
