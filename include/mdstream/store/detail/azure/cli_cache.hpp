#pragma once

/// The logins of Azure's command line. Needs libcurl: link mdstream::azure.

#include <mdstream/core/json/value.hpp>
#include <mdstream/core/warning.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/oauth.hpp>

#include <optional>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail::azure {

/// What `az login` left in its cache. It is read and never written. Of several logins that of the
/// subscription is taken that is asked for (AZURE_TENANT_ID, else AZURE_SUBSCRIPTION_ID), or else
/// of the default one.
class cli_cache {
 public:
  /// Throws `errc::invalid_argument` for files that are not understood, and
  /// `errc::permission_denied` where nothing says which of several logins is meant.
  cli_cache(const net::environment& variables, const warning_function& warn);

  /// A token for storage that is good for five minutes more.
  [[nodiscard]] std::optional<net::access> token(net::wall_clock::time_point now) const;

  /// The question for one by the login itself.
  [[nodiscard]] std::optional<net::token_request> question(const net::environment& variables) const;

  static constexpr const char* source = "the login of Azure's command line";

 private:
  struct subscription_place {
    std::string tenant{}, user{};
  };

  /// Of the profile's subscriptions the one that is asked for.
  [[nodiscard]] subscription_place subscription(const std::string& file,
                                                const std::string& id) const;

  void choose(const subscription_place& meant);

  [[nodiscard]] bool is_of_login(const json::value& entry) const;

  [[nodiscard]] std::vector<const json::value*> entries(const char* of) const;
  [[nodiscard]] static std::string text_of(const json::value& in, const char* name);

  std::string tenant_, login_{};  // empty: any
  json::value cache_{};
};

}  // namespace mdstream::inline v0::detail::azure

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/azure/cli_cache.ipp>
#endif
