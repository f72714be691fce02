#pragma once

/// Buckets of S3 and of what speaks its protocol: R2, MinIO, CoreWeave, Backblaze, Ceph, GCS with
/// HMAC keys, OCI. Needs libcurl and OpenSSL: link mdstream::s3.

#if !__has_include(<curl/curl.h>) || !__has_include(<openssl/evp.h>)
#error \
    "mdstream/store/s3.hpp needs <curl/curl.h> and <openssl/evp.h>: install the headers of libcurl and OpenSSL and link mdstream::s3"
#endif

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/s3/client.hpp>
#include <mdstream/store/s3/credentials.hpp>
#include <mdstream/store/s3/listing.hpp>
#include <mdstream/store/s3/multipart.hpp>
#include <mdstream/store/s3/options.hpp>
#include <mdstream/store/s3/ranged_read.hpp>
#include <mdstream/store/store.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

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
class s3 {
 public:
  static constexpr std::string_view schemes = "s3://";

  s3(runtime& threads, std::string_view url, s3_options options = {})
      : shared_(std::make_shared<const shared>(threads, url, std::move(options))) {}

  [[nodiscard]] static bool serves(std::string_view url) {
    return net::detail::to_lower(url_scheme(url)) == "s3";
  }
  [[nodiscard]] static s3 open(std::string_view url, runtime& threads) { return {threads, url}; }

  void async_size(std::string key, std::stop_token stop, diagnostics& where,
                  store_handler<std::uint64_t> done) const {
    async_version(std::move(key), std::move(stop), where, detail::size_only(std::move(done)));
  }

  void async_version(std::string key, std::stop_token stop, diagnostics& where,
                     store_handler<object_version> done) const {
    if (refused(key, where)) return done(errc::invalid_argument, {});
    shared_->client.async_send({.method = "HEAD", .key = whole(key)}, std::move(stop), where,
                               [&where, url = url(key), done = std::move(done)](
                                   std::error_code code, net::http_response answer) mutable {
                                 if (code) return done(code, {});
                                 const auto bytes = detail::content_length(answer.headers);
                                 if (bytes)
                                   return done({}, {*bytes, detail::tag_of(answer.headers)});
                                 where = {.what = "S3 does not tell the object's size",
                                          .url = std::move(url)};
                                 done(errc::corrupt, {});
                               });
  }

  void async_read(std::string key, std::uint64_t offset, mutable_bytes into, std::stop_token stop,
                  diagnostics& where, store_handler<std::size_t> done) const {
    read(std::move(key), std::nullopt, offset, detail::range_target::memory(into), std::move(stop),
         where, detail::length_only(std::move(done)));
  }

  void async_read_version(std::string key, object_version version, std::uint64_t offset,
                          mutable_bytes into, std::stop_token stop, diagnostics& where,
                          store_handler<std::size_t> done) const {
    read(std::move(key), std::move(version), offset, detail::range_target::memory(into),
         std::move(stop), where, detail::length_only(std::move(done)));
  }

  void async_stream(std::string key, std::optional<object_version> held, std::uint64_t offset,
                    std::uint64_t count, byte_taker take, std::stop_token stop, diagnostics& where,
                    store_handler<object_version> done) const {
    read(std::move(key), std::move(held), offset,
         detail::range_target::stream(std::move(take), count), std::move(stop), where,
         detail::version_only(std::move(done)));
  }

  void async_write(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                   store_handler<> done) const {
    write(std::move(key), bytes, {}, std::move(stop), where,
          [done = std::move(done)](std::error_code code, bool) mutable { done(code); });
  }

  /// Writes the object unless there is one of that key (If-None-Match); completes with whether it
  /// did.
  void async_create(std::string key, bytes_view bytes, std::stop_token stop, diagnostics& where,
                    store_handler<bool> done) const {
    write(std::move(key), bytes, {{"If-None-Match", "*"}}, std::move(stop), where, std::move(done));
  }

  void async_list(std::string prefix, std::stop_token stop, diagnostics& where,
                  store_handler<std::vector<object_info>> done) const {
    std::make_shared<s3_listing>(shared_->client, std::move(prefix), std::move(stop), where,
                                 std::move(done))
        ->next_page();
  }

  void async_remove(std::string key, std::stop_token stop, diagnostics& where,
                    store_handler<> done) const {
    if (refused(key, where)) return done(errc::invalid_argument);
    shared_->client.async_send(
        {.method = "DELETE", .key = whole(key)}, std::move(stop), where,
        [done = std::move(done)](std::error_code code, const net::http_response& answer) mutable {
          const bool was_absent = code == errc::not_found && answer.status == 404 &&
                                  parse_s3_error(answer.text).code != "NoSuchBucket";
          done(was_absent ? std::error_code() : code);
        });
  }

  [[nodiscard]] std::string url(std::string_view key) const {
    return shared_->client.url(whole(key));
  }

 private:
  struct shared {
    shared(runtime& t, std::string_view url, s3_options o)
        : shared(t, resolve_s3(url, o), static_cast<const s3_options&>(o)) {}
    shared(runtime& t, s3_settings settings, const s3_options& o)
        : threads(t),
          client(t, std::move(settings), o, o.credentials ? *o.credentials : default_s3_keys(t, o)),
          plan{o.part_bytes.value, o.parallel_parts, o.part_retry} {}

    runtime& threads;
    const s3_client client;
    const s3_upload_plan plan;
  };

  [[nodiscard]] bool refused(std::string_view key, diagnostics& where) const {
    if (key_is_safe(key)) return false;
    where = {.what = "the key \"" + std::string(key) + "\" leaves the store or names nothing in it",
             .url = url("")};
    return true;
  }

  [[nodiscard]] std::string whole(std::string_view key) const {
    return join_key(shared_->client.settings().root, key);
  }

  void read(std::string key, std::optional<object_version> version, std::uint64_t offset,
            detail::range_target target, std::stop_token stop, diagnostics& where,
            detail::range_handler done) const {
    if (refused(key, where)) return done(errc::invalid_argument, 0, {});
    if (target.most == 0) {  // there is no range of no bytes; whether there is an object is told
      return async_version(std::move(key), std::move(stop), where,
                           detail::without_length(std::move(done)));
    }
    std::make_shared<s3_ranged_read>(shared_->client, whole(key), offset, std::move(target),
                                     std::move(version), std::move(stop), where, std::move(done))
        ->begin();
  }

  void write(std::string key, bytes_view bytes, std::vector<net::name_value> condition,
             std::stop_token stop, diagnostics& where, store_handler<bool> done) const {
    if (refused(key, where)) return done(errc::invalid_argument, false);
    std::vector<net::name_value> headers;
    const std::string& acl = shared_->client.settings().canned_acl;
    if (!acl.empty()) headers.emplace_back("x-amz-acl", acl);
    if (bytes.size() > shared_->plan.part_bytes) {
      return std::make_shared<s3_multipart>(
                 shared_->threads, shared_->client, shared_->plan, whole(key), bytes,
                 std::move(headers), std::move(condition), std::move(stop), where, std::move(done))
          ->begin();
    }
    headers.insert(headers.end(), condition.begin(), condition.end());
    shared_->client.async_send(
        {.method = "PUT", .key = whole(key), .headers = std::move(headers), .body = bytes},
        std::move(stop), where,
        [conditional = !condition.empty(), done = std::move(done)](
            std::error_code code, const net::http_response& answer) mutable {
          if (conditional && answer.status == 412) return done({}, false);
          done(code, !code);
        });
  }

  std::shared_ptr<const shared> shared_;
};

static_assert(versioned_store<s3> && streaming_store<s3> && openable_store<s3>);

}  // namespace mdstream::inline v0::store
