#pragma once

/// What may be said about a store of Databricks, and what follows from it, the URL, the environment
/// and the profile. Reads the profile's file, and nothing else.

#include <mdstream/net/ini.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// Options of `store::dbfs`. What is set stands before the URL, the URL before the environment.
///
///     mds::store::dbfs_options options;
///     options.profile = "dev";
struct dbfs_options : detail::cloud_options {  ///< `endpoint` is the workspace: DATABRICKS_HOST
  std::string token{};    ///< a personal access token; default: DATABRICKS_TOKEN, the profile's
  std::string profile{};  ///< a profile of ~/.databrickscfg; default: the URL's,
                          ///< DATABRICKS_CONFIG_PROFILE, DEFAULT
};

/// What options, URL, environment and profile come down to. Values that are not set are empty.
struct dbfs_settings {
  std::string host{};  ///< of the workspace, with its scheme and without a slash at the end
  bool host_of_url = false;
  std::string volume{};  ///< `/Volumes/<catalog>/<schema>/<volume>`; empty: the DBFS itself
  std::string root{};    ///< beneath that
  std::string token{}, token_source{};
  std::string client_id{}, client_secret{}, client_source{};
  /// Where a token of an identity provider is, which is exchanged for one of the workspace.
  std::string oidc_variable{}, oidc_file{};
  /// A service principal of Entra, and the workspace's ID as a resource of Azure.
  std::string azure_client_id{}, azure_client_secret{}, azure_tenant_id{}, azure_resource_id{};
  bool azure_use_msi = false;       ///< the machine's managed identity is a user of the workspace
  std::string azure_environment{};  ///< `public`, `usgovernment` or `china`; by default the host's
  std::string cli_path{};           ///< of Databricks' command line; by default PATH says
  std::string profile{};            ///< that was named
  std::string auth_type{};          ///< the only way to credentials; empty: the first that has any

  /// The path of a key, as the APIs want it.
  [[nodiscard]] std::string path(std::string_view key) const {
    return volume + (key.empty() ? "" : "/") + std::string(key);
  }
  /// The URL of a key, for messages.
  [[nodiscard]] std::string url(std::string_view key) const { return "dbfs:" + path(key); }
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::dbfs {

/// Splits `dbfs:/path?query`, also written `dbfs:///path`, into volume and root.
void place(std::string_view url, const detail::cloud::cloud_url& parts, store::dbfs_settings& out);

/// The settings of a profile, which unlike those of others do not fall back to DEFAULT.
[[nodiscard]] net::ini_section read_profile(const net::environment& variables,
                                            const warning_function& warn, const std::string& name,
                                            bool required, std::string& file);

/// The values of `auth_type`, the names that Databricks' SDKs have for them, in their order.
inline constexpr std::string_view auth_types[] = {"pat",       "oauth-m2m",   "env-oidc",
                                                  "file-oidc", "github-oidc", "azure-client-secret",
                                                  "azure-msi", "azure-cli",   "databricks-cli"};

/// Those names in a row, for messages.
[[nodiscard]] std::string all_auth_types();

/// A workspace as people copy it from a browser: `https://host/?o=1`, `host`.
[[nodiscard]] std::string workspace(std::string host);

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::store {

/// Throws `errc::invalid_argument` for what cannot be right.
[[nodiscard]] dbfs_settings resolve_dbfs(std::string_view url, const dbfs_options& options);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/options.ipp>
#endif
