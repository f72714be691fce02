#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/version.hpp>

#include <cstddef>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string percent_encode(std::string_view text, std::string_view keep) {
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

MDSTREAM_INLINE std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (text.size() - at < 3) return std::nullopt;
    const int high = mdstream::detail::hex_value(text[at + 1]),
              low = mdstream::detail::hex_value(text[at + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    at += 2;
  }
  return out;
}

}  // namespace mdstream::inline v0::net
