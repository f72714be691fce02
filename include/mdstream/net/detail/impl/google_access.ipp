#pragma once

#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/google_access.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::optional<std::string> google_file::find(
    std::initializer_list<const char*> names) const {
  const json::value* at = &content_;
  for (const char* const name : names) {
    at = at->find(name);
    if (at == nullptr) return std::nullopt;
  }
  if (at->type() != json::kind::string) return std::nullopt;
  return at->as<std::string>();
}

MDSTREAM_INLINE std::string google_file::get(const char* name) const {
  if (auto found = find({name})) return *std::move(found);
  refuse("it has no text \"" + std::string(name) + '"');
}

MDSTREAM_INLINE json::array google_file::texts(const char* name) const {
  const json::value* const found = content_.find(name);
  if (found == nullptr || found->is_null()) return {};
  const auto is_text = [](const json::value& each) { return each.type() == json::kind::string; };
  if (found->type() != json::kind::array ||
      !std::ranges::all_of(found->as<json::array>(name), is_text)) {
    refuse("its \"" + std::string(name) + "\" is no list of texts");
  }
  return found->as<json::array>(name);
}

MDSTREAM_INLINE void google_file::refuse(const std::string& why) const {
  throw error(errc::invalid_argument,
              {.what = "these are no credentials of Google: " + why, .url = path_});
}

/// A service account's key: a token that it signs is exchanged for one of the service.
MDSTREAM_INLINE token_request google_service_account_question(const google_file& file,
                                                              const char* scope,
                                                              wall_clock::time_point now) {
  const std::string service =
      file.find({"token_uri"}).value_or("https://oauth2.googleapis.com/token");
  const auto begin = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const json::value claims = json::object{{"iss", file.get("client_email")},
                                          {"scope", scope},
                                          {"aud", service},
                                          {"iat", begin.count()},
                                          {"exp", begin.count() + 3600}};
  const rsa_key key =
      rsa_key::from_pem(file.get("private_key"), "\"private_key\" of " + file.path());
  return {.url = service,
          .form = form_of(
              {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
               {"assertion",
                signed_web_token(claims, key, file.find({"private_key_id"}).value_or(""))}})};
}

MDSTREAM_INLINE token_request google_user_question(const google_file& file) {
  return {.url = file.find({"token_uri"}).value_or("https://oauth2.googleapis.com/token"),
          .form = form_of({{"grant_type", "refresh_token"},
                           {"client_id", file.get("client_id")},
                           {"client_secret", file.get("client_secret")},
                           {"refresh_token", file.get("refresh_token")}})};
}

/// What a key or a login is exchanged for a token with; none for other kinds of files.
MDSTREAM_INLINE std::function<token_request(wall_clock::time_point)> google_question(
    const google_file& file, const char* scope) {
  const std::string kind = file.get("type");
  if (kind == "service_account")
    return [file, scope](wall_clock::time_point now) {
      return google_service_account_question(file, scope, now);
    };
  if (kind == "authorized_user")
    return [ask = google_user_question(file)](wall_clock::time_point) { return ask; };
  return {};
}

MDSTREAM_INLINE google_exchange::google_exchange(fetcher from, google_file file, std::string source,
                                                 std::stop_token stop, diagnostics& where,
                                                 access_handler done)
    : from_(std::move(from)),
      file_(std::move(file)),
      impersonated_(file_.find({"service_account_impersonation_url"})),
      delegates_(file_.texts("delegates")),
      source_(std::move(source)),
      stop_(std::move(stop)),
      where_(where),
      done_(std::move(done)) {}

MDSTREAM_INLINE void google_exchange::begin_federation() {
  if (const auto path = file_.find({"credential_source", "file"})) {
    const auto text = read_settings(*path);
    if (!text) throw no_token(source_, "there is no file " + *path);
    return exchange(subject_of(*text, *path));
  }
  const auto url = file_.find({"credential_source", "url"});
  if (!url || file_.find({"credential_source", "environment_id"})) {
    file_.refuse("its credential_source is neither a file nor a URL, which are all that is taken");
  }
  http_request ask{.url = *url};
  const json::value* const source = file_.content().find("credential_source");
  if (const json::value* const headers = source->find("headers")) {
    for (const auto& [name, value] : headers->as<json::object>("headers")) {
      ask.headers.push_back({name, value.as<std::string>(name)});
    }
  }
  from_.send([url = ask.url,
              headers = ask.headers] { return http_request{.url = url, .headers = headers}; },
             stop_, where_,
             [self = shared_from_this(), place = redacted_url(ask.url)](
                 std::error_code code, const http_response& answer) {
               self->guarded([&] {
                 if (code) throw error(code, self->where_);
                 if (!answer.ok()) {
                   throw no_token(self->source_, "the source of its token answers " +
                                                     std::to_string(answer.status));
                 }
                 self->exchange(self->subject_of(answer.text, place));
               });
             });
}

MDSTREAM_INLINE std::string google_exchange::subject_of(const std::string& text,
                                                        const std::string& place) const {
  const auto kind = file_.find({"credential_source", "format", "type"}).value_or("text");
  if (kind == "text") return header_token(text);
  const json::value answer = parse_json_file(text, place);
  const auto field = file_.find({"credential_source", "format", "subject_token_field_name"});
  try {
    return answer.get<std::string>(field.value_or("access_token"));
  } catch (const error&) {
    throw no_token(source_, "the source of its token has none in the field that is named");
  }
}

MDSTREAM_INLINE void google_exchange::exchange(const std::string& subject) {
  const token_request ask{
      .url = file_.get("token_url"),
      .form = form_of({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                       {"audience", file_.get("audience")},
                       {"scope", impersonated_ ? google_platform_scope : google_scope},
                       {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                       {"subject_token_type", file_.get("subject_token_type")},
                       {"subject_token", subject}})};
  ask_then_impersonate([ask](auto) { return ask; });
}

MDSTREAM_INLINE void google_exchange::begin_impersonation() {
  const json::value* const held = file_.content().find("source_credentials");
  if (held == nullptr) file_.refuse("it has no \"source_credentials\"");
  auto ask = google_question(google_file(file_.path(), *held), google_platform_scope);
  if (!ask) file_.refuse("its source_credentials are neither a service account's nor a user's");
  (void)file_.get("service_account_impersonation_url");
  ask_then_impersonate(std::move(ask));
}

MDSTREAM_INLINE void google_exchange::ask_then_impersonate(
    std::function<token_request(wall_clock::time_point)> ask) {
  ask_token(from_, std::move(ask), source_, stop_, where_,
            [self = shared_from_this()](std::error_code code, std::optional<access> keys) {
              if (code || !keys || !self->impersonated_) return self->done_(code, std::move(keys));
              self->impersonate(*keys);
            });
}

MDSTREAM_INLINE void google_exchange::impersonate(const access& keys) {
  const std::string& url = *impersonated_;
  try {
    require_private(source_, url);
  } catch (const error& e) {
    where_ = e.where();
    return done_(e.code(), std::nullopt);
  }
  json::object asked{{"scope", json::array{google_scope}}};
  if (!delegates_.empty()) asked.emplace_back("delegates", delegates_);
  const auto body = std::make_shared<const std::string>(json::dump(asked));
  from_.send(
      [url, keys, body] {
        http_request out{.method = "POST",
                         .url = url,
                         .headers = {{"Content-Type", "application/json"}},
                         .body = http_body::of(as_bytes(*body))};
        keys.authorize(out, wall_clock::now());
        return out;
      },
      stop_, where_,
      [self = shared_from_this(), body](std::error_code code, const http_response& answer) {
        self->guarded([&] {
          if (code) throw error(code, self->where_);
          self->done_({}, self->impersonated_of(answer));
        });
      });
}

MDSTREAM_INLINE std::string google_exchange::missing_role() const {
  if (file_.get("type") == "external_account") {
    return "the federated identity needs the role roles/iam.workloadIdentityUser on the account";
  }
  const std::string role = "the role roles/iam.serviceAccountTokenCreator on ";
  if (delegates_.empty()) return "the account that asks needs " + role + "it";
  return "the account that asks needs " + role +
         "the first delegate, each delegate on the next, and the last on the account";
}

MDSTREAM_INLINE access google_exchange::impersonated_of(const http_response& answer) const {
  if (!answer.ok()) {
    throw no_token(source_, "the impersonated account's service answers " +
                                std::to_string(answer.status) +
                                (answer.status == 403 ? ": " + missing_role() : ""));
  }
  try {
    const json::value said = json::parse(answer.text);
    return by_our_clock(bearer_access(said.get<std::string>("accessToken"), source_,
                                      parse_iso_time(said.get<std::string>("expireTime"))),
                        answer);
  } catch (const error&) {
    throw no_token(source_, "the answer of the impersonated account's service has none");
  }
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE google_file_access::google_file_access(fetcher from, std::string path, bool needed,
                                                       warning_function warn)
    : from_(std::move(from)), path_(std::move(path)), needed_(needed), warn_(std::move(warn)) {}

MDSTREAM_INLINE void google_file_access::async_find(std::stop_token stop, diagnostics& where,
                                                    access_handler done) const {
  const auto shared = std::make_shared<access_handler>(std::move(done));
  try {
    find(std::move(stop), where, shared);
  } catch (const error& e) {
    where = e.where();
    (*shared)(e.code(), std::nullopt);
  }
}

MDSTREAM_INLINE void google_file_access::find(std::stop_token stop, diagnostics& where,
                                              const std::shared_ptr<access_handler>& done) const {
  const auto text = detail::read_secret(path_, warn_);
  if (!text) {
    if (needed_) {
      throw error(
          errc::permission_denied,
          {.what = "there is no such file of credentials, or it may not be read", .url = path_});
    }
    return (*done)({}, std::nullopt);
  }
  const detail::google_file file(path_, detail::parse_json_file(*text, path_));
  const auto tell = [done](std::error_code code, std::optional<access> keys) {
    (*done)(code, std::move(keys));
  };
  const std::string kind = file.get("type");
  const std::string source = "the " + kind + " of " + path_;
  if (auto ask = detail::google_question(file, detail::google_scope)) {
    return ask_token(from_, std::move(ask), source, std::move(stop), where, tell);
  }
  const auto exchange = [&] {
    return std::make_shared<detail::google_exchange>(from_, file, source, std::move(stop), where,
                                                     tell);
  };
  if (kind == "external_account") return exchange()->begin_federation();
  if (kind == "impersonated_service_account") return exchange()->begin_impersonation();
  file.refuse(
      "its type is none of service_account, authorized_user, external_account and "
      "impersonated_service_account");
}

MDSTREAM_INLINE access_chain default_google_access(runtime& threads,
                                                   const http_client_options& http,
                                                   const environment& variables,
                                                   warning_function warn) {
  warn = detail::each_once(std::move(warn));
  const fetcher far(threads, http), near = fetcher::near(threads, http);
  std::vector<any_access> providers;
  if (const auto file = variables("GOOGLE_APPLICATION_CREDENTIALS")) {
    providers.emplace_back(google_file_access(far, *file, true, warn));
  }
  providers.emplace_back(google_file_access(
      far,
      detail::in_home(variables, variables("CLOUDSDK_CONFIG").value_or("~/.config/gcloud")) +
          "/application_default_credentials.json",
      false, warn));
  const auto ask = [variables]() -> std::optional<token_request> {
    if (variables("NO_GCE_CHECK").value_or("") == "true") return std::nullopt;
    const auto host = variables("GCE_METADATA_HOST");
    return token_request{.url = "http://" + host.value_or("metadata.google.internal") +
                                "/computeMetadata/v1/instance/service-accounts/default/token",
                         .headers = {{"Metadata-Flavor", "Google"}},
                         .required = host.has_value()};
  };
  providers.emplace_back(machine_access(near, "the machine's service account", ask));
  return access_chain(std::move(providers));
}

}  // namespace mdstream::inline v0::net
