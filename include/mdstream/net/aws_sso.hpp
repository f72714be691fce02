#pragma once

/// Keys of who logged in with `aws sso login`. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/core/hex.hpp>
#include <mdstream/core/json/reader.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/percent.hpp>

#include <openssl/evp.h>
#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

/// What of a profile's settings a login needs.
struct sso_login {
  std::string profile{}, account{}, role{}, region{};
  std::string cached_as{};  ///< the session's name, or the start URL of an older kind
  std::string cache{};      ///< the folder of tokens
  std::string endpoint{};   ///< of the portal
  warning_function warn{};  ///< told of a token that everybody may read
};

namespace detail {

/// Tokens lie in files that are called after the SHA-1 of what was logged in to.
[[nodiscard]] inline std::string sso_token_file(const sso_login& login) {
  std::array<std::byte, 20> digest{};
  unsigned size = 0;
  if (EVP_Digest(login.cached_as.data(), login.cached_as.size(),
                 reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha1(),
                 nullptr) != 1) {
    throw error(errc::unsupported, "OpenSSL does not compute SHA-1 here");
  }
  return login.cache + '/' + to_hex(digest) + ".json";
}

/// The token of a login. Throws `errc::permission_denied` where there is none, or none any more.
[[nodiscard]] inline std::string read_sso_token(const sso_login& login, const std::string& source,
                                                wall_clock::time_point now) {
  const std::string again = "; log in with aws sso login --profile " + login.profile;
  const auto text = read_secret(sso_token_file(login), login.warn);
  if (!text) throw keys_refused(source, "nobody is logged in" + again);
  std::string token, expires;
  try {
    json::reader in(*text);
    in.begin_object();
    while (const auto key = in.next_key()) {
      if (*key == "accessToken") {
        token = in.string();
      } else if (*key == "expiresAt") {
        expires = in.string();
      } else {
        (void)in.skip();
      }
    }
  } catch (const error& e) {
    const auto line = std::to_string(line_of(*text, e.where().byte.value_or(0)));
    throw keys_refused(source, "line " + line + " of its file of a token, " +
                                   sso_token_file(login) + ", is not the JSON that is expected" +
                                   again);
  }
  const auto until = parse_iso_time(expires);
  if (token.empty() || !until || *until <= now) {
    throw keys_refused(source, "the login has expired" + again);
  }
  return token;
}

/// `{"roleCredentials": {"accessKeyId": …, "expiration": milliseconds}}`
[[nodiscard]] inline aws_credentials parse_sso_keys(std::string_view text,
                                                    const std::string& source) {
  aws_credentials keys;
  std::uint64_t expires = 0;
  try {
    json::reader in(text);
    in.begin_object();
    while (const auto outer = in.next_key()) {
      if (*outer != "roleCredentials") {
        (void)in.skip();
        continue;
      }
      in.begin_object();
      while (const auto key = in.next_key()) {
        if (*key == "accessKeyId") {
          keys.access_key_id = in.string();
        } else if (*key == "secretAccessKey") {
          keys.secret_access_key = in.string();
        } else if (*key == "sessionToken") {
          keys.session_token = in.string();
        } else if (*key == "expiration") {
          expires = in.unsigned_integer();
        } else {
          (void)in.skip();
        }
      }
    }
  } catch (const error&) {
    throw keys_refused(source, "the answer is not the JSON that is expected");
  }
  keys = complete_keys(std::move(keys), "", source);
  if (expires > 0) {
    keys.expires = time_of_seconds(static_cast<std::int64_t>(expires / 1000));
  }
  return keys;
}

}  // namespace detail

/// The keys of a role for who is logged in. The token is read from the cache of AWS's command line,
/// which is never written.
class sso_aws_credentials {
 public:
  sso_aws_credentials(fetcher from, sso_login login)
      : from_(std::move(from)), login_(std::move(login)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
    const std::string source = "the login of the profile \"" + login_.profile + '"';
    std::string token;
    try {
      token = detail::read_sso_token(login_, source, wall_clock::now());
    } catch (const error& e) {
      where = e.where();
      return done(e.code(), std::nullopt);
    }
    const auto make = [login = login_, token] {
      return http_request{.url = login.endpoint +
                                 "/federation/credentials?role_name=" + percent_encode(login.role) +
                                 "&account_id=" + percent_encode(login.account),
                          .headers = {{"x-amz-sso_bearer_token", token}}};
    };
    from_.send(make, std::move(stop), where,
               [source, &where, done = std::move(done)](std::error_code code,
                                                        http_response answer) mutable {
                 std::optional<aws_credentials> keys;
                 try {
                   if (!code && !answer.ok()) {
                     throw detail::keys_refused(
                         source, "the portal answers " + std::to_string(answer.status));
                   }
                   if (!code) {
                     keys =
                         detail::by_our_clock(detail::parse_sso_keys(answer.text, source), answer);
                   }
                 } catch (const error& e) {
                   where = e.where();
                   code = e.code();
                 }
                 done(code, std::move(keys));
               });
  }

 private:
  fetcher from_;
  sso_login login_;
};

static_assert(aws_credentials_provider<sso_aws_credentials>);

}  // namespace mdstream::inline v0::net
