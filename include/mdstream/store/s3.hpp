#pragma once

/// Buckets of S3 and of services with its protocol: R2, MinIO, CoreWeave, Backblaze, Ceph, GCS with
/// HMAC keys, OCI. Needs libcurl and OpenSSL: link mdstream::s3.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/s3.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::s3"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/store/any_async_store.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/store/store.hpp>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

class cloud_client;

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::store {

/// Reads and writes objects under a prefix of a bucket, `s3://bucket/prefix`. A query of the URL
/// may have `endpoint`, `region`, `profile`, `anonymous=true` and `addressing=path` or `virtual`.
/// Other settings come from the environment and ~/.aws, see `s3_options`.
///
/// Lifetime: the runtime has to outlive the calls. Copies share connections and credentials.
/// Thread safety: any number of threads.
/// Errors: refused credentials are `errc::permission_denied` after one round trip, and the error
/// names their source.
/// Directory buckets (S3 Express One Zone), `NAME--ZONE--x-s3`, need credentials and a region, and
/// cost one more request every four minutes, for their session.
/// Cost: one request for `size` (HEAD), `read` (ranged GET) and `remove`; one PUT for a write up to
/// `part_bytes`, otherwise one for each part and two more; one for each 1,000 objects of a listing.
/// A bucket of another region, a wrong clock and expired credentials cost one more request, once.
///
///     mds::store::s3 bucket(threads, "s3://bucket/c4", {.region = "eu-west-1"});
class s3 : public any_async_store {
 public:
  static constexpr std::string_view schemes = "s3://";

  s3(runtime& threads, std::string_view url, s3_options options = {});

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "s3";
  }
  [[nodiscard]] static s3 open(std::string_view url, runtime& threads,
                               warning_function warn = &warn_on_stderr);

  /// Completes with a presigned URL. It allows one kind of request (GET, HEAD, PUT or DELETE) for
  /// one object, until `lifetime` (a second to seven days) has passed or the credentials that
  /// signed it have expired. Keep it as secret as credentials. Requests are only sent to get
  /// credentials, so the store knows only after another call that the bucket is in another region.
  /// `errc::permission_denied` without credentials.
  void async_presigned_url(std::string key, std::chrono::seconds lifetime, std::string method,
                           std::stop_token stop, diagnostics& where,
                           store_handler<std::string> done) const;
  /// The same, but waits for the credentials: do not call it on the runtime's threads. Throws.
  [[nodiscard]] std::string presigned_url(std::string_view key, std::chrono::seconds lifetime,
                                          std::string method = "GET") const;

 protected:
  [[nodiscard]] const detail::cloud_client& client() const noexcept;

 private:
  [[nodiscard]] static const char* why_not_presigned(std::chrono::seconds lifetime,
                                                     std::string_view method) noexcept;

  s3(runtime& threads, const s3_settings& settings, const s3_options& options);
};

static_assert(openable_store<s3>);

}  // namespace mdstream::inline v0::store

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/s3.ipp>
#endif
