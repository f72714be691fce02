#pragma once

/// Tokens of services that give them out by OAuth 2.0 (RFC 6749), and of machines' metadata
/// services. Needs libcurl: link mdstream::curl.

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/access.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/http_headers.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

namespace detail {

[[nodiscard]] error no_token(const std::string& source, const std::string& why);

/// A number of seconds, which some services write as text.
[[nodiscard]] std::optional<std::int64_t> seconds_of(const json::value* value);

/// The words of RFC 6749 section 5.2, `invalid_grant` and the like; nothing else is quoted.
[[nodiscard]] std::string oauth_error_word(std::string_view text);

}  // namespace detail

/// Fields as `application/x-www-form-urlencoded`.
[[nodiscard]] std::string form_of(const std::vector<std::pair<std::string, std::string>>& fields);

/// Reads `{"access_token": …, "expires_in": seconds, …}` or, as Azure's metadata service has it,
/// `"expires_on": seconds since 1970` by its clock, which is `ahead` of ours. One that says neither
/// is used for `unsaid_lifetime`. Throws `errc::permission_denied`, naming `source`, for anything
/// else.
[[nodiscard]] access parse_token_answer(std::string_view text, const std::string& source,
                                        wall_clock::time_point now,
                                        std::chrono::seconds ahead = {});

/// A request for a token, and the server for it.
struct token_request {
  std::string url{};
  std::vector<http_header> headers{};
  std::optional<std::string> form{};  ///< POSTed; a GET without it
  bool required = false;  ///< of `machine_access`: a setting says that the service is there
};

/// Sends what `make` makes for the time that it is given, anew for each attempt, and completes with
/// the token. What `make` throws is the failure. The question has secrets: it is not sent over http
/// but on this machine.
void ask_token(const fetcher& from, std::function<token_request(wall_clock::time_point)> make,
               std::string source, std::stop_token stop, diagnostics& where, access_handler done);

/// A token service asked each time for what `make` says. `make` may give nothing: then this
/// provider is not set up.
class token_access {
 public:
  using function = std::function<std::optional<token_request>()>;

  token_access(fetcher from, std::string source, function make);

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  fetcher from_;
  std::string source_;
  function make_;
};

/// A metadata service, which answers only on the provider's machines. Where nobody answers, which
/// takes up to two seconds to know, or another service at its address refuses, there are no
/// credentials, unless the request is `required`. One that is busy (429, 5xx) is asked again and
/// its failure told.
class machine_access {
 public:
  machine_access(fetcher from, std::string source,
                 std::function<std::optional<token_request>()> make);

  void async_find(std::stop_token stop, diagnostics& where, access_handler done) const;

 private:
  fetcher from_;
  std::string source_;
  std::function<std::optional<token_request>()> make_;
};

static_assert(keys_provider<token_access, access> && keys_provider<machine_access, access>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/oauth.ipp>
#endif
