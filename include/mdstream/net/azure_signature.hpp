#pragma once

/// Azure Storage's Shared Key signatures. Needs OpenSSL's libcrypto: link mdstream::openssl.
/// Source: "Authorize with Shared Key", Azure Storage REST API, for versions from 2015-02-21.

#include <mdstream/net/http_message.hpp>
#include <mdstream/net/time_text.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// The key of a storage account.
struct azure_account_key {
  std::string account{};
  std::vector<std::byte> key{};
};

/// What is signed: `request` with all its headers, its date as `x-ms-date` among them.
[[nodiscard]] std::string azure_string_to_sign(const http_request& request,
                                               std::string_view account);

/// Adds `x-ms-date` and `Authorization`.
void sign_for_azure(http_request& request, const azure_account_key& keys,
                    wall_clock::time_point at);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/azure_signature.ipp>
#endif
