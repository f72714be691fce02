#pragma once

#include <mdstream/store/detail/cloud/store.hpp>
#include <mdstream/store/detail/s3/api.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/s3.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <optional>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::store {

MDSTREAM_INLINE s3::s3(runtime& threads, std::string_view url, s3_options options)
    : s3(threads, resolve_s3(url, options), static_cast<const s3_options&>(options)) {}

MDSTREAM_INLINE s3::s3(runtime& threads, const s3_settings& settings, const s3_options& options)
    : any_async_store(detail::make_cloud_store(detail::s3_client(threads, settings, options))) {}

MDSTREAM_INLINE const detail::cloud_client& s3::client() const noexcept {
  return static_cast<const detail::cloud_store&>(*behind()).client();
}

MDSTREAM_INLINE s3 s3::open(std::string_view url, runtime& threads, warning_function warn) {
  s3_options options;
  options.warn = std::move(warn);
  return {threads, url, options};
}

MDSTREAM_INLINE void s3::async_presigned_url(std::string key, std::chrono::seconds lifetime,
                                             std::string method, std::stop_token stop,
                                             diagnostics& where,
                                             store_handler<std::string> done) const {
  const auto& cloud = static_cast<const detail::cloud_store&>(*behind());
  if (cloud.refused(key, where)) return done(errc::invalid_argument, {});
  if (const char* const wrong = why_not_presigned(lifetime, method)) {
    where = {.what = wrong, .url = url(key)};
    return done(errc::invalid_argument, {});
  }
  if (!static_cast<const detail::s3_api&>(client().api()).has_plain_requests()) {
    where = {.what = "objects with a customer_key cannot be read or written by their URL alone",
             .url = url(key)};
    return done(errc::unsupported, {});
  }
  client().async_find_keys(
      cloud.whole(key), std::move(stop), where,
      [from = client(), key = cloud.whole(key), url = url(key), lifetime,
       method = std::move(method), &where,
       done = std::move(done)](std::error_code code, std::optional<net::access> keys) mutable {
        if (code) return done(code, {});
        if (!keys->presign) {
          where = {.what = "there are no credentials to sign a URL with", .url = std::move(url)};
          return done(errc::permission_denied, {});
        }
        const auto& api = static_cast<const detail::s3_api&>(from.api());
        const auto request = api.bare_request(std::move(method), key);
        done({}, keys->presign(request, from.now(), lifetime));
      });
}

MDSTREAM_INLINE std::string s3::presigned_url(std::string_view key, std::chrono::seconds lifetime,
                                              std::string method) const {
  return mdstream::detail::wait_for<std::string>([&](diagnostics& where, auto done) {
    async_presigned_url(std::string(key), lifetime, std::move(method), {}, where, std::move(done));
  });
}

MDSTREAM_INLINE const char* s3::why_not_presigned(std::chrono::seconds lifetime,
                                                  std::string_view method) noexcept {
  constexpr std::chrono::seconds longest = std::chrono::hours(7 * 24);
  if (lifetime.count() < 1 || lifetime > longest) {
    return "a signed URL serves for a second to seven days";
  }
  for (const std::string_view each : {"GET", "HEAD", "PUT", "DELETE"}) {
    if (method == each) return nullptr;
  }
  return "URLs are signed for GET, HEAD, PUT and DELETE";
}

}  // namespace mdstream::inline v0::store
