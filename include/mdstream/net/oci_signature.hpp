#pragma once

/// Signatures of requests to Oracle Cloud Infrastructure. Needs OpenSSL's libcrypto: link
/// mdstream::openssl. Source: "Request Signatures", OCI documentation, version 1, which is
/// draft-cavage-http-signatures-08 by RSA-SHA256.

#include <mdstream/net/http_message.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/time_text.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// What signs: `id` is `<tenancy>/<user>/<fingerprint>` of an API key, `ST$<security token>`, or
/// `<tenancy>/fed-x509/<fingerprint>` of a machine's certificate, which signs no `Host`.
struct oci_signer {
  std::string id{};
  rsa_key key{};
  bool signs_host = true;
};

namespace detail {

[[nodiscard]] std::string header_of(const http_request& request, std::string_view name);

}  // namespace detail

/// What is signed: `request` with all its headers, `Date` among them; with `X-Content-SHA256` and
/// `Content-Type` where the body is signed.
[[nodiscard]] std::string oci_string_to_sign(const http_request& request, bool signs_host = true);

/// Adds `Date`, `Authorization` and what a signed body needs. A body that is signed has to lie in
/// memory.
void sign_for_oci(http_request& request, const oci_signer& who, wall_clock::time_point at);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/oci_signature.ipp>
#endif
