#pragma once

/// The keys with which requests to AWS, and to what speaks its protocols, are signed.

#include <mdstream/net/time_text.hpp>

#include <optional>
#include <string>

namespace mdstream::inline v0::net {

/// Keys and where they came from. Only `source` may appear in messages.
struct aws_credentials {
  std::string access_key_id{};  ///< empty: anonymous, requests are not signed
  std::string secret_access_key{};
  std::string session_token{};                      ///< of temporary keys; else empty
  std::optional<wall_clock::time_point> expires{};  ///< of temporary keys, where it is known
  std::string source{};                             ///< which provider supplied them

  [[nodiscard]] bool anonymous() const noexcept { return access_key_id.empty(); }
};

}  // namespace mdstream::inline v0::net
