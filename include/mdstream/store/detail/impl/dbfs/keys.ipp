#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/detail/program_access.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/store/detail/dbfs/logins.hpp>
#include <mdstream/version.hpp>

#include <optional>
#include <string>
#include <vector>

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

/// A service principal of Databricks, which has a secret.
MDSTREAM_INLINE std::optional<net::token_request> principal_question(
    const store::dbfs_settings& settings, const std::string& source) {
  if (settings.client_id.empty() || settings.client_secret.empty()) return std::nullopt;
  bounds(settings).require(source, settings.host);
  const std::string both = settings.client_id + ':' + settings.client_secret;
  return net::token_request{
      .url = settings.host + "/oidc/v1/token",
      .headers = {{"Authorization", "Basic " + to_base64(as_bytes(both))}},
      .form = net::form_of({{"grant_type", "client_credentials"}, {"scope", "all-apis"}})};
}

MDSTREAM_INLINE std::optional<net::detail::program> azure_command(
    const store::dbfs_settings& settings, const net::environment& variables) {
  auto out = net::detail::azure_token_program(variables, entra_resource);
  if (out && !settings.azure_tenant_id.empty()) {
    out->words.insert(out->words.end(), {"--tenant", settings.azure_tenant_id});
  }
  return out;
}

MDSTREAM_INLINE std::optional<net::detail::program> databricks_command(
    const store::dbfs_settings& settings, const net::environment& variables) {
  const std::string name = settings.cli_path.empty() ? "databricks" : settings.cli_path;
  const auto path = net::detail::find_program(name, variables("PATH").value_or(""));
  if (!path) return std::nullopt;
  bounds(settings).require("Databricks' command line", settings.host);
  const bool named = !settings.profile.empty();
  return net::detail::program{.words = {*path, "auth", "token", named ? "--profile" : "--host",
                                        named ? settings.profile : settings.host}};
}

MDSTREAM_INLINE std::vector<net::any_access> ways_in(runtime& threads,
                                                     const store::dbfs_settings& settings,
                                                     const store::dbfs_options& options) {
  const net::environment variables = options.variables;
  const net::fetcher far(threads, options.http);
  const bool all = settings.auth_type.empty();
  std::vector<net::any_access> out;
  const auto add = [&](std::string_view type, bool by_default, auto make) {
    if (settings.auth_type == type || (all && by_default)) out.push_back(make());
  };
  add("pat", true, [&]() -> net::any_access {
    return net::computed_access([settings]() -> std::optional<net::access> {
      const std::string token = net::detail::header_token(settings.token);
      if (token.empty()) return std::nullopt;
      return net::bearer_access(token, settings.token_source);
    });
  });
  add("oauth-m2m", true, [&]() -> net::any_access {
    const std::string source = "the service principal of " + settings.client_source;
    return net::token_access(far, source,
                             [settings, source] { return principal_question(settings, source); });
  });
  add("env-oidc", true, [&]() -> net::any_access {
    return net::token_access(far, "the identity provider's token in a variable",
                             [=] { return variable_question(settings, variables); });
  });
  add("file-oidc", true, [&]() -> net::any_access {
    return net::token_access(far, "the identity provider's token in a file",
                             [settings] { return file_question(settings); });
  });
  add("github-oidc", true,
      [&]() -> net::any_access { return github_access(far, settings, variables); });
  const bool is_azure = is_of_azure(settings.host);
  add("azure-client-secret", is_azure,
      [&]() -> net::any_access { return entra_access(far, settings, variables); });
  add("azure-msi", is_azure, [&]() -> net::any_access {
    return net::machine_access(net::fetcher::near(threads, options.http),
                               "the machine's managed identity",
                               [=] { return machine_question(settings, variables); });
  });
  // One that fails leaves the other ways, unless it is the one that is named.
  const auto no_login = [all](const net::detail::program_result&) { return all; };
  add("azure-cli", is_azure, [&]() -> net::any_access {
    return net::detail::program_access(
        threads, "Azure's command line (az)", [=] { return azure_command(settings, variables); },
        no_login);
  });
  add("databricks-cli", true, [&]() -> net::any_access {
    return net::detail::program_access(
        threads, "Databricks' command line",
        [=] { return databricks_command(settings, variables); }, no_login);
  });
  if (!all) {
    out.push_back(net::computed_access([type = settings.auth_type]() -> std::optional<net::access> {
      throw error(errc::permission_denied, "DATABRICKS_AUTH_TYPE is " + type +
                                               ", and what that needs is not set, or no program "
                                               "of it in PATH");
    }));
  }
  return out;
}

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::any_access default_dbfs_access(runtime& threads,
                                                    const store::dbfs_settings& settings,
                                                    const store::dbfs_options& options) {
  return net::access_chain(dbfs::ways_in(threads, settings, options));
}

}  // namespace mdstream::inline v0::detail
