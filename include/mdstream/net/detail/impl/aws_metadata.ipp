#pragma once

#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/aws_metadata.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <system_error>

namespace mdstream::inline v0::net::detail {

/// Completes with the credentials in an answer, or with why the answer has none.
MDSTREAM_INLINE void take_keys_json(std::error_code code, const http_response& answer,
                                    const std::string& source, diagnostics& where,
                                    aws_credentials_handler& done) {
  std::optional<aws_credentials> keys;
  try {
    if (!code && !answer.ok()) {
      throw keys_refused(source, "it answers " + std::to_string(answer.status));
    }
    if (!code) keys = by_our_clock(parse_aws_keys_json(answer.text, source), answer);
  } catch (const error& e) {
    where = e.where();
    code = e.code();
  }
  done(code, std::move(keys));
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE void instance_aws_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                          aws_credentials_handler done) const {
  if (variables_("AWS_EC2_METADATA_DISABLED").value_or("") == "true") {
    return done({}, std::nullopt);
  }
  auto state = std::make_shared<question>(question{
      from_, variables_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254"), "",
      "", std::move(stop), where, std::move(done)});
  while (state->base.ends_with('/')) state->base.pop_back();
  ask_token(state);
}

MDSTREAM_INLINE void instance_aws_credentials::ask_token(const std::shared_ptr<question>& state) {
  const auto make = [state] {
    return http_request{.method = "PUT",
                        .url = state->base + "/latest/api/token",
                        .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                        .body = http_body::of({})};
  };
  // Nearly always nobody answers, or another provider's service: this is no EC2 instance.
  state->from.probe(make, state->stop, state->where,
                    [state](std::error_code code, const http_response& answer) {
                      if (fetcher::absent(code, answer)) return state->done({}, std::nullopt);
                      if (code) return state->done(code, std::nullopt);
                      state->token = detail::header_token(answer.text);
                      ask_role(state);
                    });
}

MDSTREAM_INLINE http_request instance_aws_credentials::get(const question& state,
                                                           const std::string& role) {
  return {.url = state.base + "/latest/meta-data/iam/security-credentials/" + percent_encode(role),
          .headers = {{"X-aws-ec2-metadata-token", state.token}}};
}

MDSTREAM_INLINE void instance_aws_credentials::ask_role(const std::shared_ptr<question>& state) {
  state->from.send([state] { return get(*state, ""); }, state->stop, state->where,
                   [state](std::error_code code, http_response answer) {
                     if (!code && answer.status == 404) return state->done({}, std::nullopt);
                     if (code || !answer.ok()) {
                       return detail::take_keys_json(code, answer, source, state->where,
                                                     state->done);
                     }
                     state->role = answer.text.substr(0, answer.text.find('\n'));
                     ask_keys(state);
                   });
}

MDSTREAM_INLINE void instance_aws_credentials::ask_keys(const std::shared_ptr<question>& state) {
  state->from.send([state] { return get(*state, state->role); }, state->stop, state->where,
                   [state](std::error_code code, http_response answer) {
                     detail::take_keys_json(code, answer, source, state->where, state->done);
                   });
}

MDSTREAM_INLINE void container_aws_credentials::async_find(std::stop_token stop, diagnostics& where,
                                                           aws_credentials_handler done) const {
  http_request request;
  try {
    const auto url = url_of_service();
    if (!url) return done({}, std::nullopt);
    request.url = *url;
    if (const auto token = authorization()) {
      request.headers.push_back({"Authorization", *token});
    }
  } catch (const error& e) {
    where = e.where();
    return done(e.code(), std::nullopt);
  }
  const auto make = [url = request.url, headers = request.headers] {
    return http_request{.url = url, .headers = headers};
  };
  from_.send(make, std::move(stop), where,
             [&where, done = std::move(done)](std::error_code code, http_response answer) mutable {
               detail::take_keys_json(code, answer, source, where, done);
             });
}

MDSTREAM_INLINE std::optional<std::string> container_aws_credentials::url_of_service() const {
  if (const auto path = variables_("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    return "http://169.254.170.2" + *path;
  }
  auto url = variables_("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!url) return std::nullopt;
  const auto parts = parse_http_url(*url);
  if (!parts || (parts->scheme != "https" && !is_near(parts->host))) {
    throw detail::keys_refused(
        source, "AWS_CONTAINER_CREDENTIALS_FULL_URI has to be https, or of this machine");
  }
  return url;
}

MDSTREAM_INLINE bool container_aws_credentials::is_near(std::string_view host) {
  const bool address = host.find_first_not_of("0123456789.") == std::string_view::npos;
  return host == "localhost" || (address && host.starts_with("127.")) || host == "[::1]" ||
         host == "169.254.170.2" || host == "169.254.170.23" || host == "[fd00:ec2::23]";
}

MDSTREAM_INLINE std::optional<std::string> container_aws_credentials::authorization() const {
  const auto file = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  if (!file) return variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const auto text = detail::read_settings(*file);
  if (!text) throw detail::keys_refused(source, "there is no file " + *file);
  return detail::token_of_file(*text, *file);
}

}  // namespace mdstream::inline v0::net
