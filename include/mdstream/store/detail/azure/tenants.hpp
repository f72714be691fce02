#pragma once

/// Where Azure's tenants are asked for tokens of its storage. Needs libcurl: link mdstream::azure.

#include <mdstream/net/environment.hpp>
#include <mdstream/net/oauth.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail::azure {

inline constexpr const char* resource = "https://storage.azure.com";

/// Of what a client proves in place of a secret (RFC 7523).
inline constexpr const char* assertion_type =
    "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

[[nodiscard]] std::string authority(const net::environment& variables);

/// Where a tenant gives tokens.
[[nodiscard]] std::string tenant_url(const std::string& authority, const std::string& tenant);

[[nodiscard]] net::token_request ask_tenant(const std::string& authority, const std::string& tenant,
                                            std::vector<std::pair<std::string, std::string>> form);

}  // namespace mdstream::inline v0::detail::azure

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/tenants.ipp>
#endif
