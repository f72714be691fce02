#pragma once

/// What stores tell of an object's bytes besides their number. Pure.
///
/// A digest is one text whatever the store: the name of the hash, a colon and lower-case
/// hexadecimal digits, as `md5:d41d8cd98f00b204e9800998ecf8427e`. Names: `md5`, `sha256`, `crc32c`;
/// `git-sha1`, Git's name of a blob of these bytes; and `md5-of-parts` with `-N` behind the digits,
/// S3's ETag of an object that was uploaded in N parts. Several have a space between them. Empty:
/// nothing is told.

#include <mdstream/core/base64.hpp>
#include <mdstream/core/hex.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// An ETag without its quotes.
[[nodiscard]] inline std::string_view unquoted(std::string_view tag) noexcept {
  const bool quoted = tag.size() >= 2 && tag.starts_with('"') && tag.ends_with('"');
  return quoted ? tag.substr(1, tag.size() - 2) : tag;
}

/// The digest that an S3 ETag is, with its quotes or without. A tag of another form is none. One of
/// this form may be none, too, where objects are encrypted by SSE-KMS or SSE-C: nothing shows it.
[[nodiscard]] inline std::string digest_of_tag(std::string_view tag) {
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

/// The digest of that name whose `digits` are given as hexadecimal in lower case; empty where they
/// are none, or not so many.
[[nodiscard]] inline std::string digest_of_hex(std::string_view name, std::size_t digits,
                                               std::string_view text) {
  const bool is_one = text.size() == digits && std::ranges::all_of(text, [](char c) {
                        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                      });
  return is_one ? std::string(name).append(":").append(text) : "";
}

/// The digest of that name whose `bytes` are given as base64; empty where they are not so many.
[[nodiscard]] inline std::string digest_of_base64(std::string_view name, std::size_t bytes,
                                                  std::string_view text) {
  const auto digest = from_base64(text);
  if (!digest || digest->size() != bytes) return "";
  return std::string(name) + ':' + to_hex(*digest);
}

/// The checksum in four bytes, the highest first.
[[nodiscard]] inline std::string digest_of_crc32c(std::uint32_t crc) {
  std::array<std::byte, 4> bytes{};
  for (std::size_t i = 0; i < 4; ++i) bytes[i] = static_cast<std::byte>(crc >> (24 - 8 * i) & 0xFF);
  return "crc32c:" + to_hex(bytes);
}

/// The digests that one text has.
[[nodiscard]] inline std::vector<std::string_view> digests_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

/// The digest of that hash among those that one text has; empty where there is none.
[[nodiscard]] inline std::string_view digest_by(std::string_view name, std::string_view text) {
  for (const std::string_view each : digests_of(text)) {
    if (each.substr(0, each.find(':')) == name) return each;
  }
  return {};
}

namespace detail {

[[nodiscard]] inline std::optional<bool> same_by_one(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto name = [](std::string_view digest) { return digest.substr(0, digest.find(':')); };
  const auto parts = [](std::string_view digest) { return digest.substr(digest.rfind('-') + 1); };
  if (name(a) != name(b)) return std::nullopt;
  if (name(a) == "md5-of-parts" && parts(a) != parts(b)) return std::nullopt;
  return false;
}

}  // namespace detail

/// Whether two texts of digests are of the same bytes. Nothing where they cannot tell: one is
/// empty, or they are of different hashes or numbers of parts. The same bytes in as many parts of
/// other sizes pass for different: who trusts this may copy once too often, and never keeps what is
/// old.
[[nodiscard]] inline std::optional<bool> same_bytes(std::string_view a, std::string_view b) {
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

}  // namespace mdstream::inline v0
