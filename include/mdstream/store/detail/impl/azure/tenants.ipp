#pragma once

#include <mdstream/net/percent.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/store/detail/azure/variables.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail::azure {

MDSTREAM_INLINE std::string authority(const net::environment& variables) {
  std::string host = detail::cloud::with_scheme(
      variables(variable::authority).value_or("https://login.microsoftonline.com"));
  while (host.ends_with('/')) host.pop_back();
  return host;
}

MDSTREAM_INLINE std::string tenant_url(const std::string& authority, const std::string& tenant) {
  return authority + '/' + net::percent_encode(tenant) + "/oauth2/v2.0/token";
}

MDSTREAM_INLINE net::token_request ask_tenant(
    const std::string& authority, const std::string& tenant,
    std::vector<std::pair<std::string, std::string>> form) {
  form.emplace_back("scope", std::string(resource) + "/.default");
  return {.url = tenant_url(authority, tenant), .form = net::form_of(form)};
}

}  // namespace mdstream::inline v0::detail::azure
