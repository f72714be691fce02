#pragma once

/// Keys of a user of `aws sso login`. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/fetch.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::net {

namespace detail {

/// What a login has in its file.
struct sso_token {
  std::string access{};
  std::optional<wall_clock::time_point> expires{};
  std::string refresh{}, client_id{}, client_secret{};  ///< of logins to a session

  [[nodiscard]] bool is_good(wall_clock::time_point at) const {
    return !access.empty() && expires && *expires > at;
  }
  [[nodiscard]] bool can_be_refreshed() const;
};

}  // namespace detail

/// A service of the runtime: the tokens that refreshing gave to all of its stores. They go into no
/// file of the command line's. Thread-safe.
class sso_memory {
 public:
  explicit sso_memory(asio::io_context&) {}

  /// The newest that goes back to the one of that file, which another login replaces.
  [[nodiscard]] std::optional<detail::sso_token> find(const std::string& file,
                                                      const detail::sso_token& in_file) const;
  void keep(const std::string& file, const detail::sso_token& in_file, detail::sso_token newest);

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::pair<std::string, detail::sso_token>> kept_{};
};

/// What of a profile's settings a login needs.
struct sso_login {
  std::string profile{}, account{}, role{}, region{};
  std::string cached_as{};       ///< the session's name, or the start URL of an older kind
  std::string cache{};           ///< the folder of tokens
  std::string endpoint{};        ///< of the portal
  std::string token_endpoint{};  ///< of the service that refreshes tokens
  warning_function warn{};       ///< told of a token that everybody may read
};

namespace detail {

/// Tokens lie in files that are called after the SHA-1 of what was logged in to.
[[nodiscard]] std::string sso_token_file(const sso_login& login);

/// The token in a login's file, good or not. Throws `errc::permission_denied` where there is none.
[[nodiscard]] sso_token read_sso_token(const sso_login& login, const std::string& source);

/// `{"accessToken": …, "expiresIn": seconds, "refreshToken": …}`: what `before` is followed by.
[[nodiscard]] sso_token parse_refreshed(std::string_view text, sso_token before,
                                        wall_clock::time_point now);

/// `{"roleCredentials": {"accessKeyId": …, "expiration": milliseconds}}`
[[nodiscard]] aws_credentials parse_sso_keys(std::string_view text, const std::string& source);

}  // namespace detail

/// The keys of a role for a user that is logged in. The token is read from the cache of AWS's
/// command line, which is never written. One that expires within five minutes, or that the portal
/// refuses, is refreshed where its login allows that, and kept in memory.
class sso_aws_credentials {
 public:
  sso_aws_credentials(fetcher from, sso_login login)
      : from_(std::move(from)), login_(std::move(login)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const;

 private:
  struct question : std::enable_shared_from_this<question> {
    question(const fetcher& f, const sso_login& l, std::stop_token s, diagnostics& w,
             aws_credentials_handler d);

    /// Runs `f`, whose failure is the end.
    template <class F>
    void guarded(F f) {
      try {
        f();
      } catch (const error& e) {
        where = e.where();
        done(e.code(), std::nullopt);
      }
    }

    void begin();

    [[nodiscard]] sso_memory& memory() const { return from.threads->service<sso_memory>(); }

    /// Whether another question got a token that is newer; this one has it then.
    [[nodiscard]] bool has_newer();

    void refresh();

    /// With the token that was to be followed by another: the next question refreshes again.
    [[nodiscard]] bool can_go_on() const;

    void take_refreshed(const http_response& answer);

    void ask_keys();

    const fetcher from;
    const sso_login login;
    const std::string source;
    const std::stop_token stop;
    diagnostics& where;
    aws_credentials_handler done;
    detail::sso_token in_file{}, newest{};
    bool has_refreshed = false;
    bool is_refused = false;  // `newest`, by the portal
  };

  fetcher from_;
  sso_login login_;
};

static_assert(aws_credentials_provider<sso_aws_credentials>);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/aws_sso.ipp>
#endif
