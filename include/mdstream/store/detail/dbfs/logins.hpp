#pragma once

/// The ways to a token of a Databricks workspace that ask others for it: identity providers, Entra,
/// command lines. Needs libcurl: link mdstream::dbfs. Source: Databricks' unified authentication
/// and its SDKs.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/store/dbfs/options.hpp>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail::dbfs {

/// Databricks as a resource of Entra, the same in all its clouds.
inline constexpr std::string_view entra_resource = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d";

/// Whether the workspace is of Azure Databricks.
[[nodiscard]] bool is_of_azure(std::string_view host);

/// Asks the workspace to exchange a token of an identity provider, which it trusts for the service
/// principal `client_id`, or without one for the whole account.
[[nodiscard]] net::token_request exchange_question(const store::dbfs_settings& settings,
                                                   std::string subject);

/// The same with the token that stands in a variable, or in a file, which is read each time.
/// Nothing if neither is set.
[[nodiscard]] std::optional<net::token_request> variable_question(
    const store::dbfs_settings& settings, const net::environment& variables);
[[nodiscard]] std::optional<net::token_request> file_question(const store::dbfs_settings& settings);

/// Asks Entra for a token of the service principal, for Databricks or for `scope`. Nothing if it is
/// not set up.
[[nodiscard]] std::optional<net::token_request> entra_question(const store::dbfs_settings& settings,
                                                               const net::environment& variables,
                                                               const std::string& scope);

/// Asks the metadata service of a machine of Azure for its identity's token: of ARM_CLIENT_ID, if a
/// machine has several. Nothing if ARM_USE_MSI does not ask for it.
[[nodiscard]] std::optional<net::token_request> machine_question(
    const store::dbfs_settings& settings, const net::environment& variables);

/// The scope of Azure's own management, by which a principal that is no user of the workspace
/// proves what it may do there.
[[nodiscard]] std::string management_scope(const store::dbfs_settings& settings);

/// A workflow of GitHub: it gives out a token, which is exchanged.
class github_access {
 public:
  github_access(net::fetcher from, store::dbfs_settings settings, net::environment variables);

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  static constexpr const char* source = "the token of the GitHub workflow";

  net::fetcher from_;
  store::dbfs_settings settings_;
  net::environment variables_;
};

/// A service principal of Entra. If the workspace's ID as a resource of Azure is set, requests say
/// what the principal may do there by a second token.
class entra_access {
 public:
  entra_access(net::fetcher from, const store::dbfs_settings& settings, net::environment variables);

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  static constexpr const char* source = "the service principal of Entra (ARM_CLIENT_SECRET)";

  net::token_access workspace_, management_;
  std::string resource_id_;
};

static_assert(net::keys_provider<github_access, net::access> &&
              net::keys_provider<entra_access, net::access>);

}  // namespace mdstream::inline v0::detail::dbfs

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/dbfs/logins.ipp>
#endif
