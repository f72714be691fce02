#pragma once

/// The hash by which clouds name an object that was uploaded in parts. Needs OpenSSL's libcrypto:
/// link mdstream::openssl.

#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <optional>

namespace mdstream::inline v0::detail::cloud {

using md5_digest = std::array<std::byte, 16>;

/// The MD5 of the parts' MD5s, one behind the other. Nothing where this OpenSSL has no MD5.
[[nodiscard]] std::optional<md5_digest> md5_of_digests(bytes_view digests);

}  // namespace mdstream::inline v0::detail::cloud

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/part_digests.ipp>
#endif
