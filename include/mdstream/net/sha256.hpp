#pragma once

/// SHA-256 and HMAC-SHA-256, as signatures need them. Needs OpenSSL's libcrypto: link
/// mdstream::openssl.

#if !__has_include(<openssl/evp.h>)
#error \
    "mdstream/net/sha256.hpp needs <openssl/evp.h>: install OpenSSL's headers and link mdstream::openssl"
#endif

#include <mdstream/core/blocks.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/hex.hpp>

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>

namespace mdstream::inline v0::net {

using sha256_digest = std::array<std::byte, 32>;

/// The SHA-256 of `bytes`. Throws `errc::unsupported` if this OpenSSL refuses the algorithm.
[[nodiscard]] inline sha256_digest sha256(bytes_view bytes) {
  sha256_digest out;
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(out.data()), &size,
                 EVP_sha256(), nullptr) != 1 ||
      size != out.size()) {
    throw error(errc::unsupported, "OpenSSL does not compute SHA-256 here");
  }
  return out;
}

/// The same, block by block: `was_read(block)` is called after each.
template <class WasRead>
[[nodiscard]] sha256_digest sha256(bytes_view bytes, const WasRead& was_read) {
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(),
                                                                   &EVP_MD_CTX_free);
  if (!context) throw std::bad_alloc();
  bool good = EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  for_blocks(bytes, [&](bytes_view block) {
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

/// HMAC with SHA-256, RFC 2104. Throws as `sha256`.
[[nodiscard]] inline sha256_digest hmac_sha256(bytes_view key, bytes_view message) {
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

[[nodiscard]] inline std::string sha256_hex(bytes_view bytes) { return to_hex(sha256(bytes)); }

}  // namespace mdstream::inline v0::net
