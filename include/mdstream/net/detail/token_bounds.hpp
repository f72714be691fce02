#pragma once

/// Where tokens may be sent: any receiver can use one.

#include <mdstream/core/error.hpp>
#include <mdstream/net/access.hpp>

#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net::detail {

/// Whether what is sent to a URL's host does not leave this machine.
[[nodiscard]] bool is_loopback(const std::string& host);

/// Whether it does not leave this machine and the one that it runs on: addresses of metadata
/// services, which have no https.
[[nodiscard]] bool is_link_local(const std::string& host);

/// Whether nobody on the way reads what is sent to the URL.
[[nodiscard]] inline bool is_private(const uri& to) {
  return to.scheme == "https" || is_loopback(to.host);
}

/// Throws `errc::permission_denied` where others could read what is sent to `url`.
void require_private(const std::string& source, std::string_view url);

/// The same where a token or keys are asked for; metadata services are.
void require_private_source(const std::string& source, std::string_view url);

/// The one server that a store's tokens are for.
struct token_bounds {
  std::string service{};   ///< for messages: "Azure"
  std::string endpoint{};  ///< of the store
  bool of_url = false;     ///< the dataset's URL names it: only the service's is trusted
  std::vector<std::string> domains{};  ///< of the service's hosts
  std::string setting{};               ///< in the environment, by which a user names an endpoint

  /// Throws `errc::permission_denied` where a token of `source` must not go to `url`.
  void require(const std::string& source, std::string_view url) const;

 private:
  [[nodiscard]] bool is_of_service(const std::string& host) const;
};

/// Keys of which the tokens keep to their bounds.
class bounded_access {
 public:
  bounded_access(any_access keys, token_bounds bounds)
      : keys_(std::move(keys)), bounds_(std::move(bounds)) {}

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  static void bind(access& keys, const token_bounds& bounds);

  any_access keys_;
  token_bounds bounds_;
};

static_assert(keys_provider<bounded_access, access>);

}  // namespace mdstream::inline v0::net::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/token_bounds.ipp>
#endif
