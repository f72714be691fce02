#pragma once

/// Who lets requests into a workspace of Databricks. Needs libcurl: link mdstream::dbfs.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/base64.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/store/dbfs/options.hpp>

#include <optional>
#include <string>

namespace mdstream::inline v0::store {

namespace dbfs_detail {

[[nodiscard]] inline net::detail::token_bounds bounds(const dbfs_settings& settings) {
  return {.service = "Databricks",
          .endpoint = settings.host,
          .of_url = settings.host_of_url,
          .domains = {"cloud.databricks.com", "gcp.databricks.com", "azuredatabricks.net",
                      "databricks.azure.us", "databricks.azure.cn", "cloud.databricks.us",
                      "cloud.databricks.mil"},
          .setting = "DATABRICKS_HOST"};
}

}  // namespace dbfs_detail

/// A personal access token, or else tokens of a service principal (OAuth machine-to-machine), asked
/// for anew before they expire. Nobody after them.
[[nodiscard]] inline net::any_access default_dbfs_access(runtime& threads,
                                                         const dbfs_settings& settings,
                                                         const dbfs_options& options) {
  if (!settings.token.empty()) {
    return net::explicit_access(
        net::bearer_access(net::detail::header_token(settings.token), settings.token_source));
  }
  const std::string source = "the service principal of " + settings.client_source;
  return net::token_access(
      net::fetcher(threads, options.http), source,
      [settings, source]() -> std::optional<net::token_request> {
        if (settings.client_id.empty() || settings.client_secret.empty()) return std::nullopt;
        dbfs_detail::bounds(settings).require(source, settings.host);
        const std::string both = settings.client_id + ':' + settings.client_secret;
        return net::token_request{
            .url = settings.host + "/oidc/v1/token",
            .headers = {{"Authorization", "Basic " + to_base64(as_bytes(both))}},
            .form = net::form_of({{"grant_type", "client_credentials"}, {"scope", "all-apis"}})};
      });
}

}  // namespace mdstream::inline v0::store
