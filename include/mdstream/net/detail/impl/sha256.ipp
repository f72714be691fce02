#pragma once

#include <mdstream/core/detail/blocks.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/version.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <memory>
#include <new>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE sha256_digest sha256(bytes_view bytes) {
  sha256_digest out;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                 EVP_sha256(), nullptr) != 1 ||
      size != out.size()) {
    throw error(errc::unsupported, "OpenSSL does not compute SHA-256 here");
  }
  return out;
}

MDSTREAM_INLINE sha256_digest sha256(bytes_view bytes,
                                     const std::function<void(bytes_view)>& was_read) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  bool good = EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  mdstream::detail::for_blocks(bytes, [&](bytes_view block) {
    good = good && EVP_DigestUpdate(context.get(), block.data(), block.size()) == 1;
    was_read(block);
  });
  sha256_digest out;
  if (!good || EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(out.data()),
                                  nullptr) != 1) {
    throw error(errc::unsupported, "OpenSSL does not compute SHA-256 here");
  }
  return out;
}

MDSTREAM_INLINE sha256_digest hmac_sha256(bytes_view key, bytes_view message) {
  sha256_digest out;
  unsigned size = 0;
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(),
           reinterpret_cast<unsigned char*>(out.data()), &size) == nullptr ||
      size != out.size()) {
    throw error(errc::unsupported, "OpenSSL does not compute HMAC with SHA-256 here");
  }
  return out;
}

MDSTREAM_INLINE std::string sha256_hex(bytes_view bytes) {
  return mdstream::detail::to_hex(sha256(bytes));
}

}  // namespace mdstream::inline v0::net
