#pragma once

/// The hash by which clouds name an object that was uploaded in parts. Needs OpenSSL's libcrypto:
/// link mdstream::openssl.

#include <mdstream/core/bytes.hpp>

#include <openssl/evp.h>
#include <array>
#include <cstddef>
#include <optional>

namespace mdstream::inline v0::store::cloud_detail {

using md5_digest = std::array<std::byte, 16>;

/// The MD5 of the parts' MD5s, one behind the other. Nothing where this OpenSSL has no MD5.
[[nodiscard]] inline std::optional<md5_digest> md5_of_digests(bytes_view digests) {
  md5_digest out;
  unsigned size = 0;
  if (EVP_Digest(digests.data(), digests.size(), reinterpret_cast<unsigned char*>(out.data()),
                 &size, EVP_md5(), nullptr) != 1 ||
      size != out.size()) {
    return std::nullopt;
  }
  return out;
}

}  // namespace mdstream::inline v0::store::cloud_detail
