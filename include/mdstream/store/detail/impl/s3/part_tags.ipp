#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/store/detail/cloud/part_digests.hpp>
#include <mdstream/store/detail/s3/part_tags.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <string_view>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<std::string> tag_of_parts(const std::vector<std::string>& tags) {
  std::vector<std::byte> digests;
  for (const std::string_view tag : tags) {
    if (tag.size() != 34 || !tag.starts_with('"') || !tag.ends_with('"')) return std::nullopt;
    for (std::size_t i = 1; i < 33; i += 2) {
      const int high = hex_value(tag[i]), low = hex_value(tag[i + 1]);
      if (high < 0 || low < 0) return std::nullopt;
      digests.push_back(static_cast<std::byte>(high * 16 + low));
    }
  }
  const auto whole = detail::cloud::md5_of_digests(digests);
  if (!whole) return std::nullopt;
  return '"' + to_hex(*whole) + '-' + std::to_string(tags.size()) + '"';
}

}  // namespace mdstream::inline v0::detail
