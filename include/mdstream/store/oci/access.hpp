#pragma once

/// Keys and tokens as they sign requests to Oracle Cloud Infrastructure. Needs OpenSSL's libcrypto:
/// link mdstream::openssl.

#include <mdstream/core/error.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/oci_signature.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/net/web_token.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

namespace oci_detail {

/// Whether a header's quoted `keyId` may hold it: printable ASCII without the quote.
[[nodiscard]] inline bool fits_key_id(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~' && c != '"'; });
}

}  // namespace oci_detail

/// Signatures by a user's API key, or by the key that goes with a token.
[[nodiscard]] inline net::access oci_key_access(
    net::oci_signer signer, std::string source, std::vector<std::string> secrets,
    std::optional<net::wall_clock::time_point> expires = {}) {
  auto shared = std::make_shared<const net::oci_signer>(std::move(signer));
  return {.authorize =
              [shared](net::http_request& request, net::wall_clock::time_point at) {
                net::sign_for_oci(request, *shared, at);
              },
          .secrets = std::move(secrets),
          .expires = expires,
          .source = std::move(source),
          .is_slow = true};  // RSA: 0.2 ms
}

/// Signatures by the key of a session, a resource or a machine, for whom the token speaks. The
/// token expires by the service's clock, which is `ahead` of this machine's. Throws
/// `errc::permission_denied` for a token that no header may hold.
[[nodiscard]] inline net::access oci_token_access(const std::string& token, net::rsa_key key,
                                                  std::string source,
                                                  std::vector<std::string> secrets,
                                                  net::wall_clock::duration ahead = {}) {
  if (!oci_detail::fits_key_id(token)) {
    throw error(errc::permission_denied, source + " has a token that no header may hold");
  }
  secrets.push_back(token);
  auto expires = net::web_token_expiry(token);
  if (expires) {
    expires =
        net::detail::earlier(*expires, std::chrono::duration_cast<std::chrono::seconds>(ahead));
  }
  return oci_key_access({"ST$" + token, std::move(key)}, std::move(source), std::move(secrets),
                        expires);
}

}  // namespace mdstream::inline v0::store
