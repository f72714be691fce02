#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string_view unquoted(std::string_view tag) noexcept {
  const bool quoted = tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"');
  return quoted ? tag.substr(1, tag.size() - 2) : tag;
}

MDSTREAM_INLINE std::string digest_of_tag(std::string_view tag) {
  tag = unquoted(tag);
  constexpr std::size_t digits = 32;
  std::string out = tag.size() == digits ? "md5:" : "md5-of-parts:";
  for (const char c : tag.substr(0, digits)) {
    if (hex_value(c) < 0) return "";
    out += c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (tag.size() == digits) return out;
  const std::string_view parts = tag.substr(std::min(tag.size(), digits + 1));
  const bool is_number = parts.find_first_not_of("0123456789") == std::string_view::npos;
  if (tag.size() < digits + 2 || tag[digits] != '-' || parts.size() > 5 || !is_number) return "";
  return out.append("-").append(parts);
}

MDSTREAM_INLINE std::string digest_of_hex(std::string_view name, std::size_t digits,
                                          std::string_view text) {
  const bool is_one = text.size() == digits && std::ranges::all_of(text, [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                      });
  return is_one ? std::string(name).append(":").append(text) : "";
}

MDSTREAM_INLINE std::string digest_of_base64(std::string_view name, std::size_t bytes,
                                             std::string_view text) {
  const auto digest = from_base64(text);
  if (!digest || digest->size() != bytes) return "";
  return std::string(name) + ':' + to_hex(*digest);
}

MDSTREAM_INLINE std::string digest_of_crc32c(std::uint32_t crc) {
  std::array<std::byte, 4> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(crc >> (24 - 8 * i) & 0xFF);
  return "crc32c:" + to_hex(bytes);
}

MDSTREAM_INLINE std::vector<std::string_view> digests_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

MDSTREAM_INLINE std::string_view digest_by(std::string_view name, std::string_view text) {
  for (const std::string_view each : digests_of(text)) {
    if (each.substr(0, each.find(':')) == name) return each;
  }
  return {};
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<bool> same_by_one(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto name = [](std::string_view digest) { return digest.substr(0, digest.find(':')); };
  const auto parts = [](std::string_view digest) { return digest.substr(digest.rfind('-') + 1); };
  if (name(a) != name(b)) return std::nullopt;
  if (name(a) == "md5-of-parts" && parts(a) != parts(b)) return std::nullopt;
  return false;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<bool> same_bytes(std::string_view a, std::string_view b) {
  std::optional<bool> out;
  for (const std::string_view left : digests_of(a)) {
    for (const std::string_view right : digests_of(b)) {
      const auto same = detail::same_by_one(left, right);
      if (same == false) return false;
      if (same) out = true;
    }
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
