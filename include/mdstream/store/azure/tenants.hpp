#pragma once

/// Where Azure's tenants are asked for tokens of its storage. Needs libcurl: link mdstream::azure.

#include <mdstream/net/environment.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/store/cloud/settings.hpp>

#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store::azure_detail {

inline constexpr const char* resource = "https://storage.azure.com";

[[nodiscard]] inline std::string authority(const net::environment& variables) {
  std::string host = cloud_detail::with_scheme(
      variables("AZURE_AUTHORITY_HOST").value_or("https://login.microsoftonline.com"));
  while (host.ends_with('/')) host.pop_back();
  return host;
}

[[nodiscard]] inline net::token_request ask_tenant(
    const std::string& authority, const std::string& tenant,
    std::vector<std::pair<std::string, std::string>> form) {
  form.emplace_back("scope", std::string(resource) + "/.default");
  return {.url = authority + '/' + net::percent_encode(tenant) + "/oauth2/v2.0/token",
          .form = net::form_of(form)};
}

}  // namespace mdstream::inline v0::store::azure_detail
