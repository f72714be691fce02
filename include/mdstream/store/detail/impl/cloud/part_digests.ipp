#pragma once

#include <mdstream/store/detail/cloud/part_digests.hpp>
#include <mdstream/version.hpp>

#include <openssl/evp.h>

namespace mdstream::inline v0::detail::cloud {

MDSTREAM_INLINE std::optional<md5_digest> md5_of_digests(bytes_view digests) {
  md5_digest out;
  unsigned size = 0;
  if (EVP_Digest(digests.data(), digests.size(), reinterpret_cast<unsigned char*>(out.data()),
                 &size, EVP_md5(), nullptr) != 1 ||
      size != out.size()) {
    return std::nullopt;
  }
  return out;
}

}  // namespace mdstream::inline v0::detail::cloud
