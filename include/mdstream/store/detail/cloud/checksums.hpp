#pragma once

/// Checksums that go along with what is uploaded. Needs OpenSSL's libcrypto: link
/// mdstream::openssl.

#include <mdstream/core/bytes.hpp>
#include <mdstream/net/http_headers.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace mdstream::inline v0::detail::cloud {

using was_read = std::function<void(bytes_view)>;

/// As services write it: base64 of its four bytes, the highest first.
[[nodiscard]] std::string crc32c_text(std::uint32_t crc);

[[nodiscard]] std::string crc32c_text(bytes_view bytes, const was_read& told);

/// `Content-MD5` (RFC 1864). Without a value where this OpenSSL has no MD5.
[[nodiscard]] net::http_header content_md5(bytes_view bytes, const was_read& told);

}  // namespace mdstream::inline v0::detail::cloud

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/cloud/checksums.ipp>
#endif
