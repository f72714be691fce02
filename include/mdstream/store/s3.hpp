#pragma once

/// Buckets of S3 and of what speaks its protocol: R2, MinIO, CoreWeave, Backblaze, Ceph, GCS with
/// HMAC keys, OCI. Needs libcurl and OpenSSL: link mdstream::s3.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/s3.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::s3"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/cloud/store.hpp>
#include <mdstream/store/s3/access.hpp>
#include <mdstream/store/s3/api.hpp>
#include <mdstream/store/s3/credentials.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/store/store.hpp>

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::store {

/// Objects beneath a prefix of a bucket, `s3://bucket/prefix`, literal; a query of the URL may have
/// `endpoint`, `region`, `profile`, `anonymous=true` and `addressing=path` or `virtual`. What stays
/// unset comes from the environment and ~/.aws, see `s3_options`. Thread-safe; copies share
/// connections and keys. The runtime has to outlive the calls.
///
/// Requests: one for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, else one for each part and two more; one for each 1,000 objects of a listing.
///
/// A bucket of another region, a wrong clock and expired keys that their provider renews cost one
/// request more, once. Refused keys are `errc::permission_denied` after one round trip, with the
/// name of their provider.
class s3 : public cloud_store {
 public:
  static constexpr std::string_view schemes = "s3://";

  s3(runtime& threads, std::string_view url, s3_options options = {})
      : s3(threads, resolve_s3(url, options), static_cast<const s3_options&>(options)) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "s3";
  }
  [[nodiscard]] static s3 open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr) {
    s3_options options;
    options.warn = std::move(warn);
    return {threads, url, options};
  }

  /// Writes the object unless there is one of that key (If-None-Match); completes with whether it
  /// did.
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const {
    if (refused(key, where)) return done(errc::invalid_argument, false);
    static_cast<const s3_api&>(client().api())
        .create(client(), whole(key), bytes, std::move(stop), where, std::move(done));
  }

 private:
  s3(runtime& threads, const s3_settings& settings, const s3_options& options)
      : cloud_store(s3_client(threads, settings, options)) {}
};

static_assert(versioned_store<s3> && streaming_store<s3> && creating_store<s3> &&
              openable_store<s3>);

}  // namespace mdstream::inline v0::store
