#pragma once

/// What lets a request in, whatever the provider's way: a token in a header, a signature, a signed
/// query.

#include <mdstream/net/http_message.hpp>
#include <mdstream/net/key_supply.hpp>
#include <mdstream/net/time_text.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

/// Keys in whatever form, and how they let a request in. Only `source` may appear in messages.
struct access {
  /// Adds to a request what lets it in, at the service's time. Unset: requests go as they are.
  std::function<void(http_request&, wall_clock::time_point)> authorize{};
  std::vector<std::string> secrets{};               ///< what no message may quote
  std::optional<wall_clock::time_point> expires{};  ///< where it is known
  std::string source{};                             ///< which provider supplied it
  /// Makes of a request without headers and body a URL that lets it in by itself, for all that
  /// have it, and for so long. Not set: these credentials know no such URLs.
  std::function<std::string(const http_request&, wall_clock::time_point, std::chrono::seconds)>
      presign{};
  /// `authorize` takes longer than an idle pool takes to begin, about 0.02 ms: it is called there,
  /// behind what the pool is busy with.
  bool is_slow = false;
  /// Its credentials can be copied from a request into others: they go to their service alone,
  /// encrypted.
  bool is_token = false;

  [[nodiscard]] bool anonymous() const noexcept { return !authorize; }
};

[[nodiscard]] inline bool same_keys(const access& a, const access& b) {
  return a.secrets == b.secrets && a.anonymous() == b.anonymous();
}

using access_handler = keys_handler<access>;
using any_access = any_keys<access>;
using access_chain = key_chain<access>;
using cached_access = cached_keys<access>;

/// How long a token is used of which a service, a program or a file that is written anew does not
/// say when it ends: not for ever. Its giver is asked again five minutes before.
inline constexpr std::chrono::minutes unsaid_lifetime{10};

/// `Authorization: Bearer …`.
[[nodiscard]] access bearer_access(std::string token, std::string source,
                                   std::optional<wall_clock::time_point> expires = {});

/// What the program, a file or the environment has ready.
class explicit_access {
 public:
  explicit explicit_access(access keys) : keys_(std::move(keys)) {}
  void async_find(std::stop_token, diagnostics&, access_handler done) const { done({}, keys_); }

 private:
  access keys_;
};

/// Requests go without keys, as public places take them.
[[nodiscard]] inline explicit_access anonymous_access() {
  return explicit_access({.source = "nobody (anonymous)"});
}

/// A provider that is a function: what it gives or throws. `errc` of what it throws is kept.
class computed_access {
 public:
  using function = std::function<std::optional<access>()>;
  explicit computed_access(function make) : make_(std::move(make)) {}

  void async_find(std::stop_token, diagnostics& where, access_handler done) const;

 private:
  function make_;
};

static_assert(keys_provider<explicit_access, access> && keys_provider<computed_access, access>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/access.ipp>
#endif
