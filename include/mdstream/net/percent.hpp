#pragma once

/// Percent-encoding, RFC 3986 section 2.

#include <mdstream/core/hex.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// Letters, digits, `-`, `.`, `_` and `~`: what never needs an escape.
[[nodiscard]] constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Every byte but the unreserved ones and those of `keep` as `%XX`, with upper-case digits.
[[nodiscard]] inline std::string percent_encode(std::string_view text, std::string_view keep = {}) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c) || keep.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

/// The bytes behind `%XX`; all others as they are (`+` is a plus). Nothing where a `%` is not
/// followed by two hexadecimal digits.
[[nodiscard]] inline std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (text.size() - at < 3) return std::nullopt;
    const int high = hex_value(text[at + 1]), low = hex_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

}  // namespace mdstream::inline v0::net
