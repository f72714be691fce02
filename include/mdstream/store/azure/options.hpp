#pragma once

/// What may be said about an Azure store, and what follows from it, the URL and the environment.
/// Pure.

#include <mdstream/store/detail/cloud/settings.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// Options of `store::azure`. What is set stands before the URL, the URL before the environment.
///
///     mds::store::azure_options options;
///     options.account = "account";
///     mds::store::azure container(threads, "azure://container/c4", options);
struct azure_options : detail::cloud_options {
  std::string account{};      ///< the storage account; default: that of a blob service's host, else
                              ///< AZURE_ACCOUNT_NAME
  std::string account_key{};  ///< its key in base64; default: AZURE_ACCOUNT_ACCESS_KEY
  std::string sas{};  ///< a shared access signature; default: the URL's, AZURE_STORAGE_SAS_TOKEN
};

/// What options, URL and environment come down to.
struct azure_settings {
  std::string scheme{};
  std::string account{};
  std::string container{};
  std::string root{};
  std::string endpoint{};  ///< of the account, without a slash at the end
  bool endpoint_of_url = false;
  std::string account_key{}, account_key_source{};
  std::string sas{}, sas_source{};
  bool sas_of_url = false;
  std::string shown{};  ///< the URL of the root for messages, without a slash at the end
};

}  // namespace mdstream::inline v0::store

namespace mdstream::inline v0::detail::azure {

/// The account and key that Microsoft publishes for its emulators.
inline constexpr const char* emulator_account = "devstoreaccount1";
inline constexpr const char* emulator_key =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// Puts account, key and endpoint of an emulator into a connection string that has
/// `UseDevelopmentStorage=true`.
void use_emulator(std::map<std::string, std::string>& connection);

/// The account of a blob service: the first part of its host, or for emulators of its path.
[[nodiscard]] std::string account_of_endpoint(const std::string& endpoint);

/// `Name=value;…` of AZURE_STORAGE_CONNECTION_STRING. Values may hold `=`. One with a signature
/// often has no `AccountName`: then it is that of `BlobEndpoint`.
[[nodiscard]] std::map<std::string, std::string> parse_connection_string(std::string_view text);

[[nodiscard]] bool is_account_name(std::string_view name) noexcept;

[[nodiscard]] bool is_container_name(std::string_view name) noexcept;

/// Where the container stands: a host with a dot is an account's, and the container comes first in
/// the path; any other host is the container, as the writer of MosaicML Streaming has it.
void place(const detail::cloud::cloud_url& url, store::azure_settings& out);

/// The blob service that a URL's host names, of whatever cloud or zone. A Data Lake's host, with
/// `.dfs.` in its name, belongs to the same account. Nothing for other hosts.
[[nodiscard]] std::optional<std::string> service_of(std::string host);

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::store {

/// Throws `errc::invalid_argument` for what cannot be right.
[[nodiscard]] azure_settings resolve_azure(std::string_view url, const azure_options& options);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/options.ipp>
#endif
