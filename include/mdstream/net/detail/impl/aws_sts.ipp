#pragma once

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_sts.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE sts_place sts_place::from(const environment& variables, std::string region) {
  std::string endpoint = variables("AWS_ENDPOINT_URL_STS")
                             .value_or("https://sts." + region + ".amazonaws.com" +
                                       (region.starts_with("cn-") ? ".cn" : ""));
  while (endpoint.ends_with('/')) endpoint.pop_back();
  return {std::move(endpoint), std::move(region)};
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

/// One question to the service as a form.
MDSTREAM_INLINE std::string sts_form(std::string_view action, const aws_role& role,
                                     std::string_view web_identity_token) {
  std::vector<name_value> form{{"Action", std::string(action)},
                               {"Version", "2011-06-15"},
                               {"RoleArn", role.arn},
                               {"RoleSessionName", role.session_name}};
  if (!web_identity_token.empty()) {
    form.emplace_back("WebIdentityToken", std::string(web_identity_token));
  }
  if (!role.external_id.empty()) form.emplace_back("ExternalId", role.external_id);
  if (!role.duration_seconds.empty()) form.emplace_back("DurationSeconds", role.duration_seconds);
  return v4_query(form);
}

/// Sends the form, signed where there are keys, and completes with the role's keys.
MDSTREAM_INLINE void ask_sts(const fetcher& from, const sts_place& place, std::string form,
                             std::optional<aws_credentials> signer, const std::string& source,
                             std::stop_token stop, diagnostics& where,
                             aws_credentials_handler done) {
  const auto body = std::make_shared<const std::string>(std::move(form));
  const auto make = [place, body, signer = std::move(signer)](wall_clock::time_point now) {
    http_request request{.method = "POST", .url = place.endpoint + '/'};
    request.body = http_body::of(as_bytes(*body));
    std::vector<name_value> headers{
        {"Content-Type", "application/x-www-form-urlencoded; charset=utf-8"}};
    if (signer) {
      const uri url = parse_uri(request.url);
      v4_request to_sign{.method = "POST",
                         .host = url.authority(),
                         .path = url.path,
                         .headers = std::move(headers),
                         .payload_hash = sha256_hex(as_bytes(*body))};
      v4_sign(to_sign, *signer, v4_signing_key(*signer, now, place.region, "sts"), now);
      headers = std::move(to_sign.headers);
    }
    for (auto& [name, value] : headers) request.headers.push_back({name, value});
    return request;
  };
  from.send_dated(make, std::move(stop), where,
                  [body, source, &where, done = std::move(done)](std::error_code code,
                                                                 http_response answer) mutable {
                    std::optional<aws_credentials> keys;
                    try {
                      if (!code && !answer.ok()) {
                        throw keys_refused(source, "the service answers " +
                                                       std::to_string(answer.status) + ' ' +
                                                       parse_sts_error(answer.text));
                      }
                      if (!code) keys = by_our_clock(parse_sts_keys(answer.text, source), answer);
                    } catch (const error& e) {
                      where = e.where();
                      code = e.code();
                    }
                    done(code, std::move(keys));
                  });
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE web_identity_aws_credentials::web_identity_aws_credentials(fetcher from,
                                                                           sts_place place,
                                                                           aws_role role,
                                                                           std::string token_file)
    : from_(std::move(from)),
      place_(std::move(place)),
      role_(std::move(role)),
      token_file_(std::move(token_file)) {}

MDSTREAM_INLINE void web_identity_aws_credentials::async_find(std::stop_token stop,
                                                              diagnostics& where,
                                                              aws_credentials_handler done) const {
  const std::string source = "the web identity of the role " + role_.arn;
  std::string form;
  try {
    const auto token = detail::read_settings(token_file_);
    if (!token) throw detail::keys_refused(source, "there is no file " + token_file_);
    form = detail::sts_form("AssumeRoleWithWebIdentity", role_,
                            detail::token_of_file(*token, token_file_));
  } catch (const error& e) {
    where = e.where();
    return done(errc::permission_denied, std::nullopt);
  }
  detail::ask_sts(from_, place_, std::move(form), std::nullopt, source, std::move(stop), where,
                  std::move(done));
}

MDSTREAM_INLINE assumed_role_aws_credentials::assumed_role_aws_credentials(
    fetcher from, sts_place place, aws_role role, any_aws_credentials others)
    : from_(std::move(from)),
      place_(std::move(place)),
      role_(std::move(role)),
      others_(std::move(others)) {}

MDSTREAM_INLINE void assumed_role_aws_credentials::async_find(std::stop_token stop,
                                                              diagnostics& where,
                                                              aws_credentials_handler done) const {
  const std::string source = "the assumed role " + role_.arn;
  others_.async_find(
      stop, where,
      [from = from_, place = place_, role = role_, source, stop, &where, done = std::move(done)](
          std::error_code code, std::optional<aws_credentials> keys) mutable {
        if (!code && !keys) {
          where =
              detail::keys_refused(source, "there are no credentials to assume it with").where();
          code = errc::permission_denied;
        }
        if (code) return done(code, std::nullopt);
        detail::ask_sts(from, place, detail::sts_form("AssumeRole", role, {}), std::move(keys),
                        source, std::move(stop), where, std::move(done));
      });
}

}  // namespace mdstream::inline v0::net
