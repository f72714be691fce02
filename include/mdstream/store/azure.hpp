#pragma once

/// Containers of Azure Blob Storage and file systems of Azure Data Lake Storage. Needs libcurl and
/// OpenSSL: link mdstream::azure.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/azure.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::azure"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/azure/options.hpp>
#include <mdstream/store/store.hpp>

#include <string_view>

namespace mdstream::inline v0::store {

/// Reads and writes blobs under `azure://<account>.blob.core.windows.net/<container>/<prefix>`, or
/// `azure://<container>/<prefix>` with the account from AZURE_ACCOUNT_NAME, or
/// `azure-dl://<file system>/<path>`. A host without a dot is the container; one with `.blob.` or
/// `.dfs.` in it is the host of requests, also if AZURE_ACCOUNT_NAME is set. A query of the URL is
/// a shared access signature (SAS), or has `endpoint`. Thread-safe; copies share connections and
/// credentials. The runtime has to outlive the calls.
///
/// Requests: one for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, otherwise one for each block and one more; one for each 5,000 blobs of a listing.
/// An expired token and a wrong clock cost one more request, once.
///
/// Errors: refused credentials are `errc::permission_denied`, and the error names their source.
///
///     mds::store::azure container(threads, "azure://account.blob.core.windows.net/container/c4");
class azure : public any_async_store {
 public:
  static constexpr std::string_view schemes = "azure://, azure-dl://";

  azure(runtime& threads, std::string_view url, const azure_options& options = {})
      : azure(threads, resolve_azure(url, options), options) {}

  [[nodiscard]] static bool serves(std::string_view url);
  [[nodiscard]] static azure open(std::string_view url, runtime& threads,
                                  warning_function warn = &warn_on_stderr);

 private:
  azure(runtime& threads, const azure_settings& settings, const azure_options& options);
};

static_assert(versioned_store<azure> && openable_store<azure>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure.ipp>
#endif
