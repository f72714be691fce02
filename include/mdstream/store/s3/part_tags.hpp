#pragma once

/// The ETag of an object that was uploaded in parts. Needs OpenSSL: link mdstream::s3.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/hex.hpp>

#include <openssl/evp.h>
#include <array>
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
  std::array<std::byte, 16> out;
  unsigned size = 0;
  if (EVP_Digest(digests.data(), digests.size(), reinterpret_cast<unsigned char*>(out.data()),
                 &size, EVP_md5(), nullptr) != 1 ||
      size != out.size()) {
    return std::nullopt;
  }
  return '"' + to_hex(out) + '-' + std::to_string(tags.size()) + '"';
}

}  // namespace mdstream::inline v0::store
