#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/aws_key_texts.hpp>
#include <mdstream/net/detail/google_subject.hpp>
#include <mdstream/net/detail/google_variables.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/signature_v4.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE bool is_aws_region(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// The parameters of a URL, decoded.
MDSTREAM_INLINE std::vector<name_value> parameters_of(std::string_view query,
                                                      const std::string& source) {
  std::vector<name_value> out;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view one = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(one.find('='), one.size());
    const auto name = percent_decode(one.substr(0, equals));
    const auto value = percent_decode(one.substr(std::min(equals + 1, one.size())));
    if (!name || !value) throw no_token(source, "a URL of its file has a broken escape");
    out.emplace_back(*name, *value);
  }
  return out;
}

MDSTREAM_INLINE std::string google_aws_subject(const google_federation& of,
                                               const google_aws_source& source,
                                               const std::string& region,
                                               const aws_credentials& keys,
                                               wall_clock::time_point now) {
  const std::string who = "the workload on AWS";
  if (!is_aws_region(region)) throw no_token(who, "the region of this machine is not one of AWS's");
  std::string url = source.identity_url;
  constexpr std::string_view place = "{region}";
  for (std::size_t at = 0; (at = url.find(place, at)) != std::string::npos; at += region.size()) {
    url.replace(at, place.size(), region);
  }
  const uri parts = parse_uri(url);
  v4_request request{.method = "POST",
                     .host = parts.authority(),
                     .path = parts.path.empty() ? "/" : parts.path,
                     .query = parameters_of(parts.query, who),
                     .headers = {{"x-goog-cloud-target-resource", of.audience}},
                     .payload_hash = std::string(empty_payload),
                     .sends_payload_hash = false};
  v4_sign(request, keys, v4_signing_key(keys, now, region, "sts"), now);
  request.headers.emplace_back("host", request.host);
  json::array headers;
  for (const auto& [name, value] : request.headers) {
    headers.push_back(json::object{{"key", name}, {"value", value}});
  }
  return percent_encode(
      json::dump(json::object{{"url", url}, {"method", "POST"}, {"headers", std::move(headers)}}));
}

MDSTREAM_INLINE std::string google_program_subject(std::string_view text, const std::string& source,
                                                   wall_clock::time_point now) {
  json::value said;
  try {
    said = json::parse(text);
    if (said.get<std::int64_t>("version") > 1) {
      throw no_token(source, "its program answers in a later form than version 1");
    }
    if (!said.get<bool>("success")) throw no_token(source, "its program says that it failed");
  } catch (const error& e) {
    if (e.code() == errc::permission_denied) throw;
    throw no_token(source, "its program prints no JSON with \"version\" and \"success\"");
  }
  if (const auto until = seconds_of(said.find("expiration_time"));
      until && time_of_seconds(*until) <= now) {
    throw no_token(source, "the token of its program has expired");
  }
  const auto text_of = [&](const char* name) {
    const json::value* const found = said.find(name);
    const bool is_text = found != nullptr && found->type() == json::kind::string;
    return is_text ? found->as<std::string>() : std::string();
  };
  const std::string kind = text_of("token_type"), of_tokens = "urn:ietf:params:oauth:token-type:";
  std::string token;
  if (kind == of_tokens + "id_token" || kind == of_tokens + "jwt") token = text_of("id_token");
  if (kind == of_tokens + "saml2") token = text_of("saml_response");
  if (token.empty()) throw no_token(source, "its program gives no token of a known token_type");
  return token;
}

/// The token of an answer that a program has kept, while it is good. One without an end is not
/// used: it would be used for ever.
MDSTREAM_INLINE std::optional<std::string> kept_google_subject(
    const std::optional<std::string>& text, const std::string& source) {
  if (!text) return std::nullopt;
  try {
    if (json::parse(*text).find("expiration_time") == nullptr) return std::nullopt;
    return google_program_subject(*text, source, wall_clock::now());
  } catch (const error&) {  // the program writes another
    return std::nullopt;
  }
}

MDSTREAM_INLINE program google_program(const google_file& file, const google_federation& of,
                                       const google_program_source& source,
                                       const environment& variables) {
  if (variables(google_variables::allow_programs).value_or("") != "1") {
    throw error(errc::permission_denied,
                {.what = "these credentials run a program, which " +
                         std::string(google_variables::allow_programs) + "=1 has to allow",
                 .url = file.path});
  }
  program out{.variables = {{"GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", of.audience},
                            {"GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", of.token_type},
                            {"GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", "0"},
                            {"GOOGLE_EXTERNAL_ACCOUNT_REVOKE", "0"}},
              .most_time = source.most_time};
  if (file.impersonated) {
    const std::string& url = file.impersonated->url;
    const std::size_t begin = url.rfind('/') + 1;
    out.variables.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL",
                               url.substr(begin, url.find(':', begin) - begin));
  }
  if (!source.output_file.empty()) {
    out.variables.emplace_back("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", source.output_file);
  }
  constexpr std::string_view space = " \t\r\n";
  std::string_view left = source.command;
  while (true) {
    left.remove_prefix(std::min(left.find_first_not_of(space), left.size()));
    if (left.empty()) break;
    out.words.emplace_back(left.substr(0, left.find_first_of(space)));
    left.remove_prefix(out.words.back().size());
  }
  const std::string name = out.words.empty() ? "" : out.words.front();
  const auto found = find_program(name, variables("PATH").value_or(""));
  if (!found) {
    throw error(errc::permission_denied,
                {.what = "the program of these credentials is not there, or does not run",
                 .url = file.path});
  }
  out.words.front() = *found;
  return out;
}

MDSTREAM_INLINE google_subject_search::google_subject_search(
    fetcher far, fetcher near, google_file file, environment variables, std::string source,
    std::stop_token stop, diagnostics& where, google_subject_handler done)
    : far_(std::move(far)),
      near_(std::move(near)),
      file_(std::move(file)),
      of_(std::get<google_federation>(file_.who)),
      variables_(std::move(variables)),
      source_(std::move(source)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void google_subject_search::begin() {
  std::visit([this](const auto& from) { begin(from); }, of_.source);
}

MDSTREAM_INLINE void google_subject_search::begin(const google_file_source& from) {
  const auto text = read_settings(from.path);
  if (!text) throw no_token(source_, "there is no file " + from.path);
  take(token_of(*text, from.form, from.path));
}

MDSTREAM_INLINE void google_subject_search::begin(const google_url_source& from) {
  require_private_source(source_, from.url);
  // No proxy leads to a machine's own services.
  const uri at = parse_uri(from.url);
  const fetcher& by = is_loopback(at.host) || is_link_local(at.host) ? near_ : far_;
  by.send([from] { return http_request{.url = from.url, .headers = from.headers}; }, stop_, where_,
          [self = shared_from_this(), from](std::error_code code, const http_response& answer) {
            self->guarded([&] {
              if (code) throw error(code, self->where_);
              if (!answer.ok()) {
                throw no_token(self->source_,
                               "the source of its token answers " + std::to_string(answer.status));
              }
              self->take(self->token_of(answer.text, from.form, redacted_url(from.url)));
            });
          });
}

MDSTREAM_INLINE void google_subject_search::begin(const google_program_source& from) {
  far_.threads->post(
      [self = shared_from_this(), from] { self->guarded([&] { self->run(from); }); });
}

MDSTREAM_INLINE void google_subject_search::run(const google_program_source& from) {
  const program what = google_program(file_, of_, from, variables_);
  const auto kept = [&]() -> std::optional<std::string> {
    if (from.output_file.empty()) return std::nullopt;
    return read_settings(from.output_file);
  };
  if (auto token = kept_google_subject(kept(), source_)) return take(*std::move(token));
  const program_result said = run_program(what, "the program of " + source_, stop_);
  if (said.status != 0) {
    throw no_token(source_, "its program ended with status " + std::to_string(said.status));
  }
  const std::string text = said.output.empty() ? kept().value_or("") : said.output;
  take(google_program_subject(text, source_, wall_clock::now()));
}

MDSTREAM_INLINE void google_subject_search::begin(const google_aws_source& from) {
  aws_ = from;
  namespace names = google_variables;
  region_ = first_set(variables_, {names::aws_region, names::aws_default_region}).value_or("");
  const auto id = variables_(names::aws_id), secret = variables_(names::aws_secret);
  if (id && secret) {
    keys_ = {.access_key_id = *id,
             .secret_access_key = *secret,
             .session_token = variables_(names::aws_session).value_or("")};
  }
  ask_aws_session();
}

MDSTREAM_INLINE void google_subject_search::ask_aws_session() {
  const bool needed = region_.empty() || keys_.anonymous();
  if (!needed || aws_.session_token_url.empty()) return ask_aws_region();
  require_private_source(source_, aws_.session_token_url);
  near_.send(
      [url = aws_.session_token_url] {
        return http_request{.method = "PUT",
                            .url = url,
                            .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "300"}},
                            .body = http_body::of({})};
      },
      stop_, where_,
      [self = shared_from_this()](std::error_code code, const http_response& answer) {
        self->guarded([&] {
          if (code) throw error(code, self->where_);
          if (!answer.ok()) {
            throw no_token(self->source_, "AWS's metadata service gives no session: it answers " +
                                              std::to_string(answer.status));
          }
          self->session_ = token_of_file(answer.text, redacted_url(self->aws_.session_token_url));
          self->ask_aws_region();
        });
      });
}

MDSTREAM_INLINE void google_subject_search::ask_aws_region() {
  if (!region_.empty()) return ask_aws_role();
  ask_aws(aws_.region_url, "the region (AWS_REGION)", [this](const http_response& answer) {
    region_ = header_token(answer.text);  // us-east-1d, the zone
    if (!region_.empty()) region_.pop_back();
    ask_aws_role();
  });
}

MDSTREAM_INLINE void google_subject_search::ask_aws_role() {
  if (!keys_.anonymous()) return sign_for_aws();
  ask_aws(aws_.keys_url, "the role (AWS_ACCESS_KEY_ID)", [this](const http_response& answer) {
    ask_aws_keys(header_token(answer.text.substr(0, answer.text.find('\n'))));
  });
}

MDSTREAM_INLINE void google_subject_search::ask_aws_keys(const std::string& role) {
  ask_aws(aws_.keys_url + '/' + percent_encode(role), "the role's keys",
          [this](const http_response& answer) {
            keys_ = parse_aws_keys_json(answer.text, source_);
            sign_for_aws();
          });
}

MDSTREAM_INLINE void google_subject_search::ask_aws(
    const std::string& url, const char* what, std::function<void(const http_response&)> take) {
  if (url.empty())
    throw no_token(source_, "its file does not say where to ask for " + std::string(what));
  require_private_source(source_, url);
  http_request ask{.url = url};
  if (!session_.empty()) ask.headers.push_back({"X-aws-ec2-metadata-token", session_});
  near_.send([url, headers = ask.headers] { return http_request{.url = url, .headers = headers}; },
             stop_, where_,
             [self = shared_from_this(), what, take = std::move(take)](
                 std::error_code code, const http_response& answer) {
               self->guarded([&] {
                 if (code) throw error(code, self->where_);
                 if (!answer.ok()) {
                   throw no_token(self->source_, "AWS's metadata service does not tell " +
                                                     std::string(what) + ": it answers " +
                                                     std::to_string(answer.status));
                 }
                 take(answer);
               });
             });
}

MDSTREAM_INLINE void google_subject_search::sign_for_aws() {
  (void)google_aws_subject(of_, aws_, region_, keys_,
                           wall_clock::now());  // throws here what it may
  done_({}, [of = of_, aws = aws_, region = region_, keys = keys_](wall_clock::time_point now) {
    return google_aws_subject(of, aws, region, keys, now);
  });
}

MDSTREAM_INLINE std::string google_subject_search::token_of(const std::string& text,
                                                            const google_token_form& form,
                                                            const std::string& place) const {
  if (!form.field) return header_token(text);
  const json::value answer = parse_json_file(text, place);
  try {
    return answer.get<std::string>(*form.field);
  } catch (const error&) {
    throw no_token(source_, "the source of its token has none in the field that is named");
  }
}

MDSTREAM_INLINE void google_subject_search::take(std::string token) {
  if (token.empty()) throw no_token(source_, "the source of its token has none");
  done_({}, [token = std::move(token)](wall_clock::time_point) { return token; });
}

MDSTREAM_INLINE void google_subject_search::fail(const error& e) {
  where_ = e.where();
  done_(e.code(), {});
}

}  // namespace mdstream::inline v0::net::detail
