#pragma once

#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/json/reader.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_sso.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <openssl/evp.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE bool sso_token::can_be_refreshed() const {
  return !refresh.empty() && !client_id.empty() && !client_secret.empty();
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::optional<detail::sso_token> sso_memory::find(
    const std::string& file, const detail::sso_token& in_file) const {
  const std::lock_guard lock(mutex_);
  const auto at = kept_.find(file);
  if (at == kept_.end() || at->second.first != in_file.refresh) return std::nullopt;
  return at->second.second;
}

MDSTREAM_INLINE void sso_memory::keep(const std::string& file, const detail::sso_token& in_file,
                                      detail::sso_token newest) {
  const std::lock_guard lock(mutex_);
  kept_[file] = {in_file.refresh, std::move(newest)};
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::string sso_token_file(const sso_login& login) {
  std::array<std::byte, 20> digest{};
  unsigned size = 0;
  if (EVP_Digest(login.cached_as.data(), login.cached_as.size(),
                 reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha1(),
                 nullptr) != 1) {
    throw error(errc::unsupported, "OpenSSL does not compute SHA-1 here");
  }
  return login.cache + '/' + mdstream::detail::to_hex(digest) + ".json";
}

MDSTREAM_INLINE error login_is_over(const sso_login& login, const std::string& source,
                                    const std::string& why) {
  return keys_refused(source, why + "; log in with aws sso login --profile " + login.profile);
}

MDSTREAM_INLINE sso_token read_sso_token(const sso_login& login, const std::string& source) {
  const std::string file = sso_token_file(login);
  const auto text = read_secret(file, login.warn);
  if (!text) throw login_is_over(login, source, "nobody is logged in");
  sso_token out;
  std::string expires;
  try {
    json::reader in(*text);
    in.begin_object();
    while (const auto key = in.next_key()) {
      std::string* into = nullptr;
      if (*key == "accessToken") into = &out.access;
      if (*key == "expiresAt") into = &expires;
      if (*key == "refreshToken") into = &out.refresh;
      if (*key == "clientId") into = &out.client_id;
      if (*key == "clientSecret") into = &out.client_secret;
      if (into == nullptr || in.take_null()) {
        if (into == nullptr) (void)in.skip();
      } else {
        *into = in.string();
      }
    }
  } catch (const error& e) {
    const auto line = std::to_string(line_of(*text, e.where().byte.value_or(0)));
    throw login_is_over(
        login, source,
        "line " + line + " of its file of a token, " + file + ", is not the JSON that is expected");
  }
  out.expires = parse_iso_time(expires);
  return out;
}

MDSTREAM_INLINE sso_token parse_refreshed(std::string_view text, sso_token before,
                                          wall_clock::time_point now) {
  const json::value said = json::parse(text);
  constexpr std::int64_t a_year = 365 * 86'400;
  before.access = said.get<std::string>("accessToken");
  before.expires = now + std::chrono::seconds(std::clamp<std::int64_t>(
                             said.get<std::int64_t>("expiresIn"), 0, a_year));
  if (said.find("refreshToken") != nullptr) before.refresh = said.get<std::string>("refreshToken");
  return before;
}

MDSTREAM_INLINE aws_credentials parse_sso_keys(std::string_view text, const std::string& source) {
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

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE void sso_aws_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                     aws_credentials_handler done) const {
  std::make_shared<question>(from_, login_, std::move(stop), where, std::move(done))->begin();
}

MDSTREAM_INLINE sso_aws_credentials::question::question(const fetcher& f, const sso_login& l,
                                                        std::stop_token s, diagnostics& w,
                                                        aws_credentials_handler d)
    : from(f),
      login(l),
      source("the login of the profile \"" + l.profile + '"'),
      stop(std::move(s)),
      where(w),
      done(std::move(d)) {}

MDSTREAM_INLINE void sso_aws_credentials::question::begin() {
  guarded([&] {
    const auto now = wall_clock::now();
    in_file = detail::read_sso_token(login, source);
    newest = memory().find(detail::sso_token_file(login), in_file).value_or(in_file);
    constexpr auto margin = std::chrono::minutes(5);
    if (newest.is_good(now + margin)) return ask_keys();
    if (newest.can_be_refreshed()) return refresh();
    if (newest.is_good(now)) return ask_keys();
    throw detail::login_is_over(login, source, "the login has expired");
  });
}

MDSTREAM_INLINE bool sso_aws_credentials::question::has_newer() {
  auto kept = memory().find(detail::sso_token_file(login), in_file);
  if (!kept || kept->access == newest.access || !kept->is_good(wall_clock::now())) return false;
  newest = *std::move(kept);
  return true;
}

MDSTREAM_INLINE void sso_aws_credentials::question::refresh() {
  has_refreshed = true;
  if (has_newer()) return ask_keys();
  const auto body = std::make_shared<const std::string>(
      json::dump(json::object{{"grantType", "refresh_token"},
                              {"clientId", newest.client_id},
                              {"clientSecret", newest.client_secret},
                              {"refreshToken", newest.refresh}}));
  from.send(
      [self = shared_from_this(), body] {
        return http_request{.method = "POST",
                            .url = self->login.token_endpoint + "/token",
                            .headers = {{"Content-Type", "application/json"}},
                            .body = http_body::of(as_bytes(*body))};
      },
      stop, where,
      [self = shared_from_this(), body](std::error_code code, const http_response& answer) {
        if (code && self->can_go_on()) return self->ask_keys();
        if (code) return self->done(code, std::nullopt);
        self->guarded([&] { self->take_refreshed(answer); });
      });
}

MDSTREAM_INLINE bool sso_aws_credentials::question::can_go_on() const {
  return !is_refused && !stop.stop_requested() && newest.is_good(wall_clock::now());
}

MDSTREAM_INLINE void sso_aws_credentials::question::take_refreshed(const http_response& answer) {
  // A refresh token may be good for one use, which another question made of it meanwhile.
  if (!answer.ok() && (has_newer() || can_go_on())) return ask_keys();
  if (!answer.ok()) {
    throw detail::login_is_over(login, source,
                                "the login has expired, and its service answers " +
                                    std::to_string(answer.status) + " to who refreshes it");
  }
  try {
    newest = detail::parse_refreshed(answer.text, std::move(newest), wall_clock::now());
  } catch (const error&) {
    throw detail::keys_refused(source, "the refreshed token is not the JSON that is expected");
  }
  memory().keep(detail::sso_token_file(login), in_file, newest);
  ask_keys();
}

MDSTREAM_INLINE void sso_aws_credentials::question::ask_keys() {
  from.send(
      [self = shared_from_this()] {
        return http_request{.url = self->login.endpoint + "/federation/credentials?role_name=" +
                                   percent_encode(self->login.role) +
                                   "&account_id=" + percent_encode(self->login.account),
                            .headers = {{"x-amz-sso_bearer_token", self->newest.access}}};
      },
      stop, where,
      [self = shared_from_this()](std::error_code code, const http_response& answer) {
        if (code) return self->done(code, std::nullopt);
        const bool no_longer = answer.status == 401;
        if (no_longer && !self->has_refreshed && self->newest.can_be_refreshed()) {
          self->is_refused = true;
          return self->refresh();
        }
        std::optional<aws_credentials> keys;
        self->guarded([&] {
          if (no_longer) {
            throw detail::login_is_over(self->login, self->source, "the portal answers 401");
          }
          if (!answer.ok()) {
            throw detail::keys_refused(self->source,
                                       "the portal answers " + std::to_string(answer.status));
          }
          keys = detail::by_our_clock(detail::parse_sso_keys(answer.text, self->source), answer);
        });
        if (keys) self->done({}, std::move(keys));
      });
}

}  // namespace mdstream::inline v0::net
