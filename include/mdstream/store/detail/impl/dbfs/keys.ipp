#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/version.hpp>

#include <optional>
#include <string>

namespace mdstream::inline v0::detail::dbfs {

MDSTREAM_INLINE net::detail::token_bounds bounds(const store::dbfs_settings& settings) {
  return {.service = "Databricks",
          .endpoint = settings.host,
          .of_url = settings.host_of_url,
          .domains = {"cloud.databricks.com", "gcp.databricks.com", "azuredatabricks.net",
                      "databricks.azure.us", "databricks.azure.cn", "cloud.databricks.us",
                      "cloud.databricks.mil"},
          .setting = "DATABRICKS_HOST"};
}

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::any_access default_dbfs_access(runtime& threads,
                                                    const store::dbfs_settings& settings,
                                                    const store::dbfs_options& options) {
  if (!settings.token.empty()) {
    return net::explicit_access(
        net::bearer_access(net::detail::header_token(settings.token), settings.token_source));
  }
  const std::string source = "the service principal of " + settings.client_source;
  return net::token_access(
      net::fetcher(threads, options.http), source,
      [settings, source]() -> std::optional<net::token_request> {
        if (settings.client_id.empty() || settings.client_secret.empty()) return std::nullopt;
        detail::dbfs::bounds(settings).require(source, settings.host);
        const std::string both = settings.client_id + ':' + settings.client_secret;
        return net::token_request{
            .url = settings.host + "/oidc/v1/token",
            .headers = {{"Authorization", "Basic " + to_base64(as_bytes(both))}},
            .form = net::form_of({{"grant_type", "client_credentials"}, {"scope", "all-apis"}})};
      });
}

}  // namespace mdstream::inline v0::detail
