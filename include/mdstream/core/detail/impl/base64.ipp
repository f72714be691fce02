#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string to_base64(bytes_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < count ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= count ? detail::base64_digits[word >> (18 - 6 * k) & 63] : '=';
    }
  }
  return out;
}

MDSTREAM_INLINE std::string to_base64_url(bytes_view bytes) {
  std::string out = to_base64(bytes);
  while (out.ends_with('=')) out.pop_back();
  for (char& c : out) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return out;
}

MDSTREAM_INLINE std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::vector<std::byte> out;
  out.reserve(text.size() * 3 / 4);
  std::uint32_t word = 0;
  unsigned bits = 0;
  for (const char c : text) {
    const std::size_t digit = detail::base64_digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    word = word << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<std::byte>(word >> bits & 0xFF));
  }
  return out;
}

MDSTREAM_INLINE std::optional<std::vector<std::byte>> from_base64_url(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '+' || c == '/' || c == '=') return std::nullopt;
    c = c == '-' ? '+' : c == '_' ? '/' : c;
  }
  if (plain.size() % 4 == 1) return std::nullopt;
  plain.resize((plain.size() + 3) / 4 * 4, '=');
  return from_base64(plain);
}

}  // namespace mdstream::inline v0::detail
