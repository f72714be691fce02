#pragma once

/// Keys and tokens as they sign requests to Oracle Cloud Infrastructure. Needs OpenSSL's libcrypto:
/// link mdstream::openssl.

#include <mdstream/net/access.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/time_text.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail::oci {

/// Whether a header's quoted `keyId` may hold it: printable ASCII without the quote.
[[nodiscard]] bool fits_key_id(std::string_view text);

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

/// Signatures by a user's API key, or by the key that goes with a token.
[[nodiscard]] net::access oci_key_access(net::oci_signer signer, std::string source,
                                         std::vector<std::string> secrets,
                                         std::optional<net::wall_clock::time_point> expires = {});

/// Signatures by the key of a session, a resource or a machine, which the token speaks for. The
/// token expires by the service's clock, which is `ahead` of this machine's. Throws
/// `errc::permission_denied` for a token that no header may hold.
[[nodiscard]] net::access oci_token_access(const std::string& token, net::rsa_key key,
                                           std::string source, std::vector<std::string> secrets,
                                           net::wall_clock::duration ahead = {});

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci/access.ipp>
#endif
