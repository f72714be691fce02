#pragma once

/// SHA-256 and HMAC-SHA-256, as signatures need them. Needs OpenSSL's libcrypto: link
/// mdstream::openssl.

#if !__has_include(<openssl/evp.h>)
#error \
    "mdstream/net/sha256.hpp needs <openssl/evp.h>: install OpenSSL's headers and link mdstream::openssl"
#endif

#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <string>

namespace mdstream::inline v0::net {

using sha256_digest = std::array<std::byte, 32>;

/// The SHA-256 of `bytes`. Throws `errc::unsupported` if this OpenSSL refuses the algorithm.
[[nodiscard]] sha256_digest sha256(bytes_view bytes);

/// The same, block by block: `was_read(block)` is called after each.
[[nodiscard]] sha256_digest sha256(bytes_view bytes,
                                   const std::function<void(bytes_view)>& was_read);

/// HMAC with SHA-256, RFC 2104. Throws as `sha256`.
[[nodiscard]] sha256_digest hmac_sha256(bytes_view key, bytes_view message);

[[nodiscard]] std::string sha256_hex(bytes_view bytes);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/sha256.ipp>
#endif
