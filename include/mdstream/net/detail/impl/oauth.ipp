#pragma once

#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <memory>
#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE error no_token(const std::string& source, const std::string& why) {
  return {errc::permission_denied, source + " gave no token: " + why};
}

MDSTREAM_INLINE std::optional<std::int64_t> seconds_of(const json::value* value) {
  if (value == nullptr) return std::nullopt;
  std::string text;
  if (value->type() == json::kind::string) {
    text = value->as<std::string>();
  } else if (value->type() == json::kind::integer) {
    text = value->digits();
  }
  return mdstream::detail::whole_number<std::int64_t>(text);
}

MDSTREAM_INLINE std::string oauth_error_word(std::string_view text) {
  try {
    const json::value answer = json::parse(text);
    const json::value* const word = answer.find("error");
    if (word == nullptr || word->type() != json::kind::string) return {};
    const std::string& found = word->as<std::string>();
    const bool plain =
        found.size() <= 40 && found.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == found.npos;
    return plain ? found : std::string();
  } catch (const error&) {
    return {};
  }
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string form_of(
    const std::vector<std::pair<std::string, std::string>>& fields) {
  std::string out;
  for (const auto& [name, value] : fields) {
    if (!out.empty()) out += '&';
    out += percent_encode(name) + '=' + percent_encode(value);
  }
  return out;
}

MDSTREAM_INLINE access parse_token_answer(std::string_view text, const std::string& source,
                                          wall_clock::time_point now, std::chrono::seconds ahead) {
  json::value answer;
  try {
    answer = json::parse(text);
  } catch (const error&) {
    throw detail::no_token(source, "the answer is not JSON");
  }
  const json::value* const token = answer.find("access_token");
  if (token == nullptr || token->type() != json::kind::string || token->as<std::string>().empty()) {
    throw detail::no_token(source, "the answer has none");
  }
  constexpr std::int64_t ten_years = std::int64_t{10} * 365 * 86'400;  // more would not fit
  wall_clock::time_point expires = now + unsaid_lifetime;
  if (const auto at = detail::seconds_of(answer.find("expires_on"))) {
    expires = detail::earlier(detail::time_of_seconds(*at), ahead);
  } else if (const auto in = detail::seconds_of(answer.find("expires_in"))) {
    expires = now + std::chrono::seconds(std::min(*in, ten_years));
  }
  return bearer_access(token->as<std::string>(), source, expires);
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

/// Completes with the token in an answer, or with why there is none.
MDSTREAM_INLINE void take_token(std::error_code code, const http_response& answer,
                                const std::string& source, diagnostics& where,
                                access_handler& done) {
  std::optional<access> keys;
  try {
    if (!code && !answer.ok()) {
      throw no_token(source, "the service answers " + std::to_string(answer.status) + ' ' +
                                 oauth_error_word(answer.text));
    }
    const wall_clock::time_point now = wall_clock::now();
    if (!code) keys = parse_token_answer(answer.text, source, now, ahead_of_us(answer, now));
  } catch (const error& e) {
    where = e.where();
    code = e.code();
  }
  done(code, std::move(keys));
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE void ask_token(const fetcher& from,
                               std::function<token_request(wall_clock::time_point)> make,
                               std::string source, std::stop_token stop, diagnostics& where,
                               access_handler done) {
  auto request = std::make_shared<token_request>();
  const auto message = [request, source, make = std::move(make)](wall_clock::time_point now) {
    *request = make(now);
    detail::require_private(source, request->url);
    http_request out{.url = request->url, .headers = request->headers};
    if (request->form) {
      out.method = "POST";
      out.headers.push_back({"Content-Type", "application/x-www-form-urlencoded"});
      out.body = http_body::of(as_bytes(*request->form));
    }
    return out;
  };
  from.send_dated(message, std::move(stop), where,
                  [request, source = std::move(source), &where, done = std::move(done)](
                      std::error_code code, const http_response& answer) mutable {
                    detail::take_token(code, answer, source, where, done);
                  });
}

MDSTREAM_INLINE token_access::token_access(fetcher from, std::string source, function make)
    : from_(std::move(from)), source_(std::move(source)), make_(std::move(make)) {}

MDSTREAM_INLINE void token_access::async_find(std::stop_token stop, diagnostics& where,
                                              access_handler done) const {
  std::optional<token_request> request;
  try {
    request = make_();
  } catch (const error& e) {
    where = e.where();
    return done(e.code(), std::nullopt);
  }
  if (!request) return done({}, std::nullopt);
  ask_token(
      from_, [ask = *std::move(request)](auto) { return ask; }, source_, std::move(stop), where,
      std::move(done));
}

MDSTREAM_INLINE machine_access::machine_access(fetcher from, std::string source,
                                               std::function<std::optional<token_request>()> make)
    : from_(std::move(from)), source_(std::move(source)), make_(std::move(make)) {}

MDSTREAM_INLINE void machine_access::async_find(std::stop_token stop, diagnostics& where,
                                                access_handler done) const {
  const std::optional<token_request> request = make_();
  if (!request) return done({}, std::nullopt);
  const auto make = [url = request->url, headers = request->headers] {
    return http_request{.url = url, .headers = headers};
  };
  auto take = [required = request->required, source = source_, &where, done = std::move(done)](
                  std::error_code code, const http_response& answer) mutable {
    if (!required && fetcher::absent(code, answer)) return done({}, std::nullopt);
    detail::take_token(code, answer, source, where, done);
  };
  if (request->required) return from_.send(make, std::move(stop), where, std::move(take));
  from_.probe(make, std::move(stop), where, std::move(take));
}

}  // namespace mdstream::inline v0::net
