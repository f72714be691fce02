#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/store/detail/oci/access.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE bool fits_key_id(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~' && c != '"'; });
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::access oci_key_access(net::oci_signer signer, std::string source,
                                           std::vector<std::string> secrets,
                                           std::optional<net::wall_clock::time_point> expires) {
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

MDSTREAM_INLINE net::access oci_token_access(const std::string& token, net::rsa_key key,
                                             std::string source, std::vector<std::string> secrets,
                                             net::wall_clock::duration ahead) {
  if (!detail::oci::fits_key_id(token)) {
    throw error(errc::permission_denied, source + " has a token that no header may hold");
  }
  secrets.push_back(token);
  const auto said = net::web_token_expiry(token);
  const auto expires =
      said ? net::detail::earlier(*said, std::chrono::duration_cast<std::chrono::seconds>(ahead))
           : net::wall_clock::now() + net::unsaid_lifetime;
  return oci_key_access({"ST$" + token, std::move(key)}, std::move(source), std::move(secrets),
                        expires);
}

}  // namespace mdstream::inline v0::detail
