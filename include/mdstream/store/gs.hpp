#pragma once

/// Buckets of Google Cloud Storage. Needs libcurl and OpenSSL: link mdstream::gs.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/gs.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::gs"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/store.hpp>

#include <string>
#include <string_view>

namespace mdstream::inline v0::store {

/// Options of `store::gs`.
///
///     mds::store::gs_options options;
///     options.user_project = "billing";
struct gs_options : detail::cloud_options {
  /// The project that pays for requests, where not the bucket's owner does (requester pays).
  /// Default: GOOGLE_CLOUD_QUOTA_PROJECT, for requests with credentials. With HMAC keys
  /// `errc::invalid_argument`.
  std::string user_project{};
};

/// Reads and writes objects under `gs://bucket/prefix`. If GCS_KEY and GCS_SECRET are set, it uses
/// the S3 protocol with these HMAC keys. Otherwise it uses the JSON API with Google's application
/// default credentials; without any, it sends unsigned requests. A query of the URL may have
/// `endpoint`, which gets no token. CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE and
/// STORAGE_EMULATOR_HOST name other endpoints. Thread-safe; copies share connections and
/// credentials. The runtime has to outlive the calls.
///
/// Requests: one for `size`, `read` (ranged GET) and `remove`; one for a write up to `part_bytes`,
/// otherwise one for each part and one more; one for each 1,000 objects of a listing. Writes, and
/// reads of whole objects, are checked by their CRC-32C.
///
/// Errors: refused credentials are `errc::permission_denied`, and the error names their source.
///
///     mds::store::gs bucket(threads, "gs://bucket/c4");
class gs : public any_async_store {
 public:
  static constexpr std::string_view schemes = "gs://";

  gs(runtime& threads, std::string_view url, const gs_options& options = {})
      : any_async_store(make(threads, url, options)) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "gs";
  }
  [[nodiscard]] static gs open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr);

 private:
  [[nodiscard]] static any_async_store make(runtime& threads, std::string_view url,
                                            const gs_options& options);

  /// The endpoint of Google's command line, which names the API, too: https://host/storage/v1/.
  [[nodiscard]] static std::string overridden(const net::environment& variables);

  /// An emulator takes requests without keys, unless somebody says which.
  [[nodiscard]] static net::any_access keys(runtime& threads, const gs_options& options,
                                            bool emulated);

  [[nodiscard]] static any_async_store by_s3(runtime& threads,
                                             const detail::cloud::cloud_url& parts,
                                             const std::string& endpoint, const std::string& id,
                                             const std::string& secret, const gs_options& options);
};

static_assert(versioned_store<gs> && openable_store<gs>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/gs.ipp>
#endif
