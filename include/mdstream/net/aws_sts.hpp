#pragma once

/// Keys of a role, from AWS's Security Token Service. Needs libcurl and OpenSSL: link mdstream::s3.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_metadata.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/signature_v4.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

/// Where the service is asked: AWS_ENDPOINT_URL_STS, else AWS's in the region.
struct sts_place {
  std::string endpoint{};
  std::string region{};

  [[nodiscard]] static sts_place from(const environment& variables, std::string region) {
    std::string endpoint = variables("AWS_ENDPOINT_URL_STS")
                               .value_or("https://sts." + region + ".amazonaws.com" +
                                         (region.starts_with("cn-") ? ".cn" : ""));
    while (endpoint.ends_with('/')) endpoint.pop_back();
    return {std::move(endpoint), std::move(region)};
  }
};

/// A role and how its session is named.
struct aws_role {
  std::string arn{};
  std::string session_name = "mdstream";
  std::string external_id{};
  std::string duration_seconds{};  ///< empty: the service's
};

namespace detail {

/// One question to the service as a form.
[[nodiscard]] inline std::string sts_form(std::string_view action, const aws_role& role,
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
inline void ask_sts(const fetcher& from, const sts_place& place, std::string form,
                    std::optional<aws_credentials> signer, const std::string& source,
                    std::stop_token stop, diagnostics& where, aws_credentials_handler done) {
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

}  // namespace detail

/// The keys of a role for who has a token of an identity provider, as pods on EKS do. The file is
/// read each time: the token in it is renewed.
class web_identity_aws_credentials {
 public:
  web_identity_aws_credentials(fetcher from, sts_place place, aws_role role, std::string token_file)
      : from_(std::move(from)),
        place_(std::move(place)),
        role_(std::move(role)),
        token_file_(std::move(token_file)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
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

 private:
  fetcher from_;
  sts_place place_;
  aws_role role_;
  std::string token_file_;
};

/// The keys of a role that others may assume, asked for with their keys.
class assumed_role_aws_credentials {
 public:
  assumed_role_aws_credentials(fetcher from, sts_place place, aws_role role,
                               any_aws_credentials others)
      : from_(std::move(from)),
        place_(std::move(place)),
        role_(std::move(role)),
        others_(std::move(others)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
    const std::string source = "the assumed role " + role_.arn;
    others_.async_find(
        stop, where,
        [from = from_, place = place_, role = role_, source, stop, &where, done = std::move(done)](
            std::error_code code, std::optional<aws_credentials> keys) mutable {
          if (!code && !keys) {
            where = detail::keys_refused(source, "nobody has keys to assume it").where();
            code = errc::permission_denied;
          }
          if (code) return done(code, std::nullopt);
          detail::ask_sts(from, place, detail::sts_form("AssumeRole", role, {}), std::move(keys),
                          source, std::move(stop), where, std::move(done));
        });
  }

 private:
  fetcher from_;
  sts_place place_;
  aws_role role_;
  any_aws_credentials others_;
};

static_assert(aws_credentials_provider<web_identity_aws_credentials> &&
              aws_credentials_provider<assumed_role_aws_credentials>);

}  // namespace mdstream::inline v0::net
