#pragma once

/// Keys of the machine that a program runs on: an EC2 instance's, or a container's. Needs libcurl:
/// link mdstream::curl.

#include <mdstream/net/aws_credentials.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/fetch.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/settings_file.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::net {

namespace detail {

/// Completes with the keys in an answer, or with why there are none.
inline void take_keys_json(std::error_code code, const http_response& answer,
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

}  // namespace detail

/// The keys of an EC2 instance's role, by version 2 of its metadata service. Not asked where
/// AWS_EC2_METADATA_DISABLED is `true`; AWS_EC2_METADATA_SERVICE_ENDPOINT is where it is asked. A
/// machine that has no such service, or no role, has no keys, which takes up to a few seconds to
/// know. A service that is busy (429, 5xx) is asked again and its failure told.
class instance_aws_credentials {
 public:
  explicit instance_aws_credentials(fetcher from, environment variables = process_environment())
      : from_(std::move(from)), variables_(std::move(variables)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
    if (variables_("AWS_EC2_METADATA_DISABLED").value_or("") == "true") {
      return done({}, std::nullopt);
    }
    auto state = std::make_shared<question>(question{
        from_, variables_("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254"),
        "", "", std::move(stop), where, std::move(done)});
    while (state->base.ends_with('/')) state->base.pop_back();
    ask_token(state);
  }

 private:
  static constexpr const char* source = "the EC2 instance's role";

  struct question {
    fetcher from;
    std::string base, token, role;
    std::stop_token stop;
    diagnostics& where;
    aws_credentials_handler done;
  };

  static void ask_token(const std::shared_ptr<question>& state) {
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

  static http_request get(const question& state, const std::string& role) {
    return {
        .url = state.base + "/latest/meta-data/iam/security-credentials/" + percent_encode(role),
        .headers = {{"X-aws-ec2-metadata-token", state.token}}};
  }

  static void ask_role(const std::shared_ptr<question>& state) {
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

  static void ask_keys(const std::shared_ptr<question>& state) {
    state->from.send([state] { return get(*state, state->role); }, state->stop, state->where,
                     [state](std::error_code code, http_response answer) {
                       detail::take_keys_json(code, answer, source, state->where, state->done);
                     });
  }

  fetcher from_;
  environment variables_;
};

/// The keys of a container's role (ECS, EKS pod identity): AWS_CONTAINER_CREDENTIALS_RELATIVE_URI,
/// or AWS_CONTAINER_CREDENTIALS_FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or
/// AWS_CONTAINER_AUTHORIZATION_TOKEN. Without TLS only this machine and the services' own addresses
/// are asked.
class container_aws_credentials {
 public:
  explicit container_aws_credentials(fetcher from, environment variables = process_environment())
      : from_(std::move(from)), variables_(std::move(variables)) {}

  void async_find(std::stop_token stop, diagnostics& where, aws_credentials_handler done) const {
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
    from_.send(
        make, std::move(stop), where,
        [&where, done = std::move(done)](std::error_code code, http_response answer) mutable {
          detail::take_keys_json(code, answer, source, where, done);
        });
  }

 private:
  static constexpr const char* source = "the container's role";

  [[nodiscard]] std::optional<std::string> url_of_service() const {
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

  [[nodiscard]] static bool is_near(std::string_view host) {
    const bool address = host.find_first_not_of("0123456789.") == std::string_view::npos;
    return host == "localhost" || (address && host.starts_with("127.")) || host == "[::1]" ||
           host == "169.254.170.2" || host == "169.254.170.23" || host == "[fd00:ec2::23]";
  }

  [[nodiscard]] std::optional<std::string> authorization() const {
    const auto file = variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (!file) return variables_("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    const auto text = detail::read_settings(*file);
    if (!text) throw detail::keys_refused(source, "there is no file " + *file);
    return detail::token_of_file(*text, *file);
  }

  fetcher from_;
  environment variables_;
};

static_assert(aws_credentials_provider<instance_aws_credentials> &&
              aws_credentials_provider<container_aws_credentials>);

}  // namespace mdstream::inline v0::net
