#pragma once

/// Buckets of Oracle Cloud Infrastructure. Needs libcurl and OpenSSL: link mdstream::oci.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/oci.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::oci"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/oci/options.hpp>

#include <string_view>

namespace mdstream::inline v0::store {

/// Reads and writes objects under `oci://bucket/prefix` or `oci://bucket@namespace/prefix`. A query
/// of the URL may have `endpoint`, `region` and `profile`. Requests are signed by the API key or
/// session of the variables and `~/.oci/config`. Without one they are not signed, which is enough
/// for public buckets; the URL then has to have the namespace. Thread-safe; copies share
/// connections and credentials. The runtime has to outlive the calls.
///
/// Requests: one for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, otherwise one for each part and two more; one for each 1,000 objects of a listing;
/// one for the namespace, once, if the URL has none. A replaced token and a wrong clock cost one
/// more, once.
///
/// Errors: refused credentials are `errc::permission_denied`, and the error names their source.
///
///     mds::store::oci bucket(threads, "oci://bucket@namespace/c4");
class oci : public any_async_store {
 public:
  static constexpr std::string_view schemes = "oci://";

  oci(runtime& threads, std::string_view url, const oci_options& options = {})
      : oci(threads, resolve_oci(url, options), options) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "oci";
  }
  [[nodiscard]] static oci open(std::string_view url, runtime& threads,
                                warning_function warn = &warn_on_stderr);

 private:
  oci(runtime& threads, const oci_settings& settings, const oci_options& options);
};

static_assert(openable_store<oci>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/oci.ipp>
#endif
