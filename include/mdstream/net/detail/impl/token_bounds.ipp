#pragma once

#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/version.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <algorithm>
#include <optional>
#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

MDSTREAM_INLINE bool is_link_local(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 16 == 0xA9FE;
  return host == "[fd00:ec2::254]";  // of AWS
}

MDSTREAM_INLINE error token_refused(const std::string& source, const uri& to,
                                    const std::string& why) {
  return {errc::permission_denied,
          {.what = "the token of " + source + " is not sent to " + to.authority() + ": " + why,
           .url = to.origin()}};
}

MDSTREAM_INLINE void require_private(const std::string& source, std::string_view url) {
  const auto to = parse_http_url(url);
  if (to && !is_private(*to)) {
    throw token_refused(source, *to, "over http everybody on the way could read it; use https");
  }
}

MDSTREAM_INLINE void require_private_source(const std::string& source, std::string_view url) {
  const auto from = parse_http_url(url);
  if (from && (is_private(*from) || is_link_local(from->host))) return;
  throw error(errc::permission_denied,
              {.what = source + " gave no token: where it is asked for is " +
                       (from ? "http, which everybody on the way could read; use https"
                             : "no http or https URL"),
               .url = from ? from->origin() : std::string()});
}

MDSTREAM_INLINE void token_bounds::require(const std::string& source, std::string_view url) const {
  const auto to = parse_http_url(url), home = parse_http_url(endpoint);
  if (!to || !home) throw error(errc::invalid_argument, "this is no http or https URL");
  require_private(source, url);
  if (!same_origin(*to, *home)) {
    throw token_refused(source, *to, "the store is at " + home->authority());
  }
  if (of_url && !is_of_service(to->host)) {
    throw token_refused(source, *to,
                        "the dataset's URL names this host, which is not one of " + service +
                            "'s; if you trust it, name it by " + setting +
                            " or the store's option endpoint");
  }
}

MDSTREAM_INLINE bool token_bounds::is_of_service(const std::string& host) const {
  return std::ranges::any_of(domains, [&](const std::string& domain) {
    return host == domain || host.ends_with('.' + domain);
  });
}

MDSTREAM_INLINE void bounded_access::async_find(std::stop_token stop, diagnostics& where,
                                                access_handler done) const {
  keys_.async_find(std::move(stop), where,
                   [bounds = bounds_, done = std::move(done)](std::error_code code,
                                                              std::optional<access> found) mutable {
                     if (found && found->is_token) bind(*found, bounds);
                     done(code, std::move(found));
                   });
}

MDSTREAM_INLINE void bounded_access::bind(access& keys, const token_bounds& bounds) {
  keys.authorize = [inner = std::move(keys.authorize), source = keys.source, bounds](
                       http_request& request, wall_clock::time_point at) {
    bounds.require(source, request.url);
    inner(request, at);
  };
}

}  // namespace mdstream::inline v0::net::detail
