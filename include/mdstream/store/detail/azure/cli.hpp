#pragma once

/// The login of Azure's command line. Needs libcurl: link mdstream::azure.

#include <mdstream/async/runtime.hpp>
#include <mdstream/net/detail/program_access.hpp>
#include <mdstream/net/environment.hpp>

namespace mdstream::inline v0::detail::azure {

/// Asks the command line for a token of storage, which takes about a second: for AZURE_TENANT_ID,
/// else AZURE_SUBSCRIPTION_ID, else its own choice (`az account set`). Nothing if there is no `az`
/// in PATH, or nobody has logged in: its directory is not there, or it says so.
[[nodiscard]] net::detail::program_access cli_access(runtime& threads, net::environment variables);

}  // namespace mdstream::inline v0::detail::azure

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/cli.ipp>
#endif
