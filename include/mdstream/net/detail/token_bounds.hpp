#pragma once

/// Where tokens may be sent: whoever gets one can use it.

#include <mdstream/core/error.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/http_url.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net::detail {

/// Whether what is sent to a URL's host does not leave this machine.
[[nodiscard]] inline bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  return host == "localhost" || host == "[::1]";
}

/// Whether nobody on the way reads what is sent to the URL.
[[nodiscard]] inline bool is_private(const uri& to) {
  return to.scheme == "https" || is_loopback(to.host);
}

[[nodiscard]] inline error token_refused(const std::string& source, const uri& to,
                                         const std::string& why) {
  return {errc::permission_denied,
          {.what = "the token of " + source + " is not sent to " + to.authority() + ": " + why,
           .url = to.origin()}};
}

/// Throws `errc::permission_denied` where others could read what is sent to `url`.
inline void require_private(const std::string& source, std::string_view url) {
  const auto to = parse_http_url(url);
  if (to && !is_private(*to)) {
    throw token_refused(source, *to, "over http everybody on the way could read it; use https");
  }
}

/// The one server that a store's tokens are for.
struct token_bounds {
  std::string service{};   ///< for messages: "Azure"
  std::string endpoint{};  ///< of the store
  bool of_url = false;     ///< the dataset's URL names it: only the service's is trusted
  std::vector<std::string> domains{};  ///< of the service's hosts
  std::string setting{};               ///< in the environment, by which a user names an endpoint

  /// Throws `errc::permission_denied` where a token of `source` must not go to `url`.
  void require(const std::string& source, std::string_view url) const {
    const auto to = parse_http_url(url), home = parse_http_url(endpoint);
    if (!to || !home) throw error(errc::invalid_argument, "this is no http or https URL");
    require_private(source, url);
    if (!same_origin(*to, *home)) {
      throw token_refused(source, *to, "the store is at " + home->authority());
    }
    if (of_url && !is_of_service(to->host)) {
      throw token_refused(source, *to,
                          "the dataset's URL names this host, which is none of " + service +
                              "'s; if you trust it, name it by " + setting +
                              " or the store's option endpoint");
    }
  }

 private:
  [[nodiscard]] bool is_of_service(const std::string& host) const {
    return std::ranges::any_of(domains, [&](const std::string& domain) {
      return host == domain || host.ends_with('.' + domain);
    });
  }
};

/// Keys of which the tokens keep to their bounds.
class bounded_access {
 public:
  bounded_access(any_access keys, token_bounds bounds)
      : keys_(std::move(keys)), bounds_(std::move(bounds)) {}

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const {
    keys_.async_find(std::move(stop), where,
                     [bounds = bounds_, done = std::move(done)](
                         std::error_code code, std::optional<access> found) mutable {
                       if (found && found->is_token) bind(*found, bounds);
                       done(code, std::move(found));
                     });
  }

 private:
  static void bind(access& keys, const token_bounds& bounds) {
    keys.authorize = [inner = std::move(keys.authorize), source = keys.source, bounds](
                         http_request& request, wall_clock::time_point at) {
      bounds.require(source, request.url);
      inner(request, at);
    };
  }

  any_access keys_;
  token_bounds bounds_;
};

static_assert(keys_provider<bounded_access, access>);

}  // namespace mdstream::inline v0::net::detail
