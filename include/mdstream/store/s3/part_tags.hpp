#pragma once

/// The ETag of an object that was uploaded in parts. Needs OpenSSL: link mdstream::s3.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/hex.hpp>
#include <mdstream/store/cloud/part_digests.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::store {

/// As S3 makes it where parts have the MD5 of their bytes as ETags: the MD5 of those digests, and
/// the number of parts. Nothing where the parts' ETags are others (SSE-KMS, some services) or this
/// OpenSSL has no MD5.
[[nodiscard]] inline std::optional<std::string> tag_of_parts(const std::vector<std::string>& tags) {
  std::vector<std::byte> digests;
  for (const std::string_view tag : tags) {
    if (tag.size() != 34 || !tag.starts_with('"') || !tag.ends_with('"')) return std::nullopt;
    for (std::size_t i = 1; i < 33; i += 2) {
      const int high = hex_value(tag[i]), low = hex_value(tag[i + 1]);
      if (high < 0 || low < 0) return std::nullopt;
      digests.push_back(static_cast<std::byte>(high * 16 + low));
    }
  }
  const auto whole = cloud_detail::md5_of_digests(digests);
  if (!whole) return std::nullopt;
  return '"' + to_hex(*whole) + '-' + std::to_string(tags.size()) + '"';
}

}  // namespace mdstream::inline v0::store
