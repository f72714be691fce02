#pragma once

/// The login of Azure's command line. Needs libcurl: link mdstream::azure.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/detail/program.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/time_text.hpp>

#include <optional>
#include <stop_token>
#include <string_view>

namespace mdstream::inline v0::detail::azure {

inline constexpr const char* cli_source = "the login of Azure's command line (az)";

/// How the command line is asked for a token of storage: for AZURE_TENANT_ID, else
/// AZURE_SUBSCRIPTION_ID, else its own choice (`az account set`). Nothing if there is no `az` in
/// PATH, or nobody has logged in: its directory is not there.
[[nodiscard]] std::optional<net::detail::program> cli_program(const net::environment& variables);

/// The token in what it printed. Throws `errc::permission_denied`, quoting nothing.
[[nodiscard]] net::access cli_token(std::string_view text, net::wall_clock::time_point now);

/// `az account get-access-token`, run on the pool, where it takes a thread for about a second.
/// Nothing if it says that nobody has logged in; other failures are told.
class cli_access {
 public:
  cli_access(runtime& threads, net::environment variables);

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const;

 private:
  runtime* threads_;
  net::environment variables_;
};

static_assert(net::keys_provider<cli_access, net::access>);

}  // namespace mdstream::inline v0::detail::azure

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/cli.ipp>
#endif
