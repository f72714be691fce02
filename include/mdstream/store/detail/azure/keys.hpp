#pragma once

/// What lets requests into Azure Storage. Needs libcurl and OpenSSL: link mdstream::azure.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/store/azure/options.hpp>

#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

/// Signatures by the account's key. Throws `errc::invalid_argument` where the key is not base64.
[[nodiscard]] net::access azure_key_access(std::string account, const std::string& key,
                                           std::string source);

/// A signed query, which every request gets, and which works for all that see one.
[[nodiscard]] net::access azure_sas_access(std::string sas, std::string source);

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail::azure {

/// A service principal's secret: AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET.
[[nodiscard]] std::optional<net::token_request> secret_question(const net::environment& variables);

/// A service principal's certificate: AZURE_CLIENT_CERTIFICATE_PATH, a file in PEM with the
/// certificate and its RSA key, which signs an assertion (RFC 7523) made at `now`. Read each time.
/// Throws `errc::invalid_argument`, naming the file, for one that cannot be used. Source:
/// "Microsoft identity platform certificate credentials".
[[nodiscard]] std::optional<net::token_request> certificate_question(
    const net::environment& variables, const warning_function& warn,
    net::wall_clock::time_point now);

/// A pod's or runner's own token exchanged: AZURE_FEDERATED_TOKEN_FILE, read each time.
[[nodiscard]] std::optional<net::token_request> workload_question(
    const net::environment& variables);

/// A virtual machine's identity, or that of App Service and Functions (IDENTITY_ENDPOINT), whose
/// failures are told. Azure Arc's, which answers with a challenge, is not supported: its refusal is
/// such a failure.
[[nodiscard]] std::optional<net::token_request> machine_question(const net::environment& variables);

/// Of all of Azure's clouds, zones and Fabric.
[[nodiscard]] net::detail::token_bounds bounds(const store::azure_settings& settings);

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::detail {

/// The account's key, a signed query, a service principal's secret or certificate, a workload's
/// identity, the login of Azure's command line, the machine's identity: the first that is set up.
/// Nobody after them.
[[nodiscard]] net::any_access default_azure_access(runtime& threads,
                                                   const store::azure_settings& settings,
                                                   const store::azure_options& options);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/keys.ipp>
#endif
