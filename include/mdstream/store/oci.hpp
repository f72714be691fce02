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

/// Objects beneath `oci://bucket/prefix` or `oci://bucket@namespace/prefix`, literal. A query of
/// the URL may have `endpoint`, `region` and `profile`. Requests are signed by the API key, or the
/// session, of variables and `~/.oci/config`; they go without where there is none, as public
/// buckets take them, which have to be named with their namespace. Thread-safe; copies share
/// connections and keys. The runtime has to outlive the calls.
///
/// Requests: one for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, else one for each part and two more; one for each 1,000 objects of a listing; one
/// more for the namespace before the first, where the URL has none. A token that was replaced and a
/// wrong clock cost one more, once.
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
