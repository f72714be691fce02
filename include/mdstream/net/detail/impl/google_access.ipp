#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/net/detail/google_subject.hpp>
#include <mdstream/net/detail/google_variables.hpp>
#include <mdstream/net/detail/token_bounds.hpp>
#include <mdstream/net/google_access.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstring>
#include <functional>
#include <optional>
#include <system_error>
#include <variant>
#include <vector>

namespace mdstream::inline v0::net::detail {

inline constexpr const char* google_scope = "https://www.googleapis.com/auth/devstorage.read_write";
/// Of a token by which another account's is asked for.
inline constexpr const char* google_platform_scope =
    "https://www.googleapis.com/auth/cloud-platform";

/// A service account's key: a token that it signs is exchanged for one of the service.
MDSTREAM_INLINE token_request google_question(const google_service_account& who,
                                              const std::string& path, const char* scope,
                                              wall_clock::time_point now) {
  const auto begin = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const json::value claims = json::object{{"iss", who.email},
                                          {"scope", scope},
                                          {"aud", who.token_url},
                                          {"iat", begin.count()},
                                          {"exp", begin.count() + 3600}};
  const rsa_key key = rsa_key::from_pem(who.private_key, "\"private_key\" of " + path);
  json::object head;
  if (!who.key_id.empty()) head.emplace_back("kid", who.key_id);
  return {.url = who.token_url,
          .form = form_of({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                           {"assertion", signed_web_token(std::move(head), claims, key)}})};
}

MDSTREAM_INLINE token_request google_question(const google_user& who) {
  return {.url = who.token_url,
          .form = form_of({{"grant_type", "refresh_token"},
                           {"client_id", who.client_id},
                           {"client_secret", who.client_secret},
                           {"refresh_token", who.refresh_token}})};
}

MDSTREAM_INLINE token_request google_question(const google_federation& who,
                                              const std::string& subject, const char* scope) {
  std::vector<std::pair<std::string, std::string>> form{
      {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
      {"audience", who.audience},
      {"scope", scope},
      {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
      {"subject_token_type", who.token_type},
      {"subject_token", subject}};
  if (!who.workforce_project.empty()) {
    form.emplace_back("options", json::dump(json::object{{"userProject", who.workforce_project}}));
  }
  return {.url = who.token_url, .form = form_of(form)};
}

/// From a file to the token of its account, or of the account that it impersonates.
class google_exchange : public std::enable_shared_from_this<google_exchange> {
 public:
  google_exchange(fetcher far, fetcher near, google_file file, environment variables,
                  std::stop_token stop, diagnostics& where, access_handler done)
      : far_(std::move(far)),
        near_(std::move(near)),
        file_(std::move(file)),
        variables_(std::move(variables)),
        source_("the " + file_.kind + " of " + file_.path),
        stop_(std::move(stop)),
        where_(where),
        done_(std::move(done)) {}

  void begin() {
    if (std::holds_alternative<google_federation>(file_.who)) return find_subject();
    ask([file = file_, scope = scope()](wall_clock::time_point now) {
      if (const auto* const user = std::get_if<google_user>(&file.who))
        return google_question(*user);
      return google_question(std::get<google_service_account>(file.who), file.path, scope, now);
    });
  }

 private:
  [[nodiscard]] const char* scope() const {
    return file_.impersonated ? google_platform_scope : google_scope;
  }

  void find_subject();
  void ask(std::function<token_request(wall_clock::time_point)> question);
  void impersonate(const access& keys);
  [[nodiscard]] access impersonated_of(const http_response& answer) const;
  [[nodiscard]] std::string missing_role() const;
  void give(access keys);
  void fail(const error& e) {
    where_ = e.where();
    done_(e.code(), std::nullopt);
  }

  const fetcher far_, near_;
  const google_file file_;
  const environment variables_;
  const std::string source_;
  const std::stop_token stop_;
  diagnostics& where_;
  access_handler done_;
};

MDSTREAM_INLINE void google_exchange::find_subject() {
  const auto search = std::make_shared<google_subject_search>(
      far_, near_, file_, variables_, source_, stop_, where_,
      [self = shared_from_this()](std::error_code code, google_subject subject) {
        if (code) return self->done_(code, std::nullopt);
        self->ask([who = std::get<google_federation>(self->file_.who), subject,
                   scope = self->scope()](wall_clock::time_point now) {
          return google_question(who, subject(now), scope);
        });
      });
  try {
    search->begin();
  } catch (const error& e) {
    fail(e);
  }
}

MDSTREAM_INLINE void google_exchange::ask(
    std::function<token_request(wall_clock::time_point)> question) {
  ask_token(far_, std::move(question), source_, stop_, where_,
            [self = shared_from_this()](std::error_code code, std::optional<access> keys) {
              if (code || !keys) return self->done_(code, std::nullopt);
              if (!self->file_.impersonated) return self->give(*std::move(keys));
              self->impersonate(*keys);
            });
}

MDSTREAM_INLINE void google_exchange::impersonate(const access& keys) {
  const google_impersonation& of = *file_.impersonated;
  try {
    require_private(source_, of.url);
  } catch (const error& e) {
    return fail(e);
  }
  json::object asked{{"scope", json::array{google_scope}}};
  if (!of.delegates.empty()) {
    asked.emplace_back("delegates", json::array(of.delegates.begin(), of.delegates.end()));
  }
  if (!of.lifetime.empty()) asked.emplace_back("lifetime", of.lifetime);
  const auto body = std::make_shared<const std::string>(json::dump(asked));
  far_.send(
      [url = of.url, keys, body] {
        http_request out{.method = "POST",
                         .url = url,
                         .headers = {{"Content-Type", "application/json"}},
                         .body = http_body::of(as_bytes(*body))};
        keys.authorize(out, wall_clock::now());
        return out;
      },
      stop_, where_,
      [self = shared_from_this(), body](std::error_code code, const http_response& answer) {
        if (code) return self->done_(code, std::nullopt);
        std::optional<access> found;
        try {
          found = self->impersonated_of(answer);
        } catch (const error& e) {
          return self->fail(e);
        }
        self->give(*std::move(found));
      });
}

MDSTREAM_INLINE std::string google_exchange::missing_role() const {
  if (file_.kind == "external_account") {
    return "the federated identity needs the role roles/iam.workloadIdentityUser on the account";
  }
  const std::string role = "the role roles/iam.serviceAccountTokenCreator on ";
  if (file_.impersonated->delegates.empty()) return "the account that asks needs " + role + "it";
  return "the account that asks needs " + role +
         "the first delegate, each delegate on the next, and the last on the account";
}

MDSTREAM_INLINE access google_exchange::impersonated_of(const http_response& answer) const {
  if (!answer.ok()) {
    throw no_token(source_, "the impersonated account's service answers " +
                                std::to_string(answer.status) +
                                (answer.status == 403 ? ": " + missing_role() : ""));
  }
  std::string token, until;
  try {
    const json::value said = json::parse(answer.text);
    token = said.get<std::string>("accessToken");
    until = said.get<std::string>("expireTime");
  } catch (const error&) {
    throw no_token(source_, "the answer of the impersonated account's service has none");
  }
  const auto expires = parse_iso_time(until);
  if (!expires) throw no_token(source_, "the impersonated account's service gives one without end");
  return by_our_clock(bearer_access(std::move(token), source_, expires), answer);
}

/// Requests that name no project to bill are billed to the file's.
MDSTREAM_INLINE void google_exchange::give(access keys) {
  if (!file_.quota_project.empty()) {
    keys.source += ", whose quota_project_id is " + file_.quota_project;
    keys.authorize = [inner = std::move(keys.authorize), project = file_.quota_project](
                         http_request& request, wall_clock::time_point at) {
      if (request.url.find("userProject=") == std::string::npos) {
        request.headers.push_back({"X-Goog-User-Project", project});
      }
      inner(request, at);
    };
  }
  done_({}, std::move(keys));
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE google_file_access::google_file_access(fetcher far, fetcher near, std::string path,
                                                       bool needed, environment variables,
                                                       warning_function warn)
    : far_(std::move(far)),
      near_(std::move(near)),
      path_(std::move(path)),
      needed_(needed),
      variables_(std::move(variables)),
      warn_(std::move(warn)) {}

MDSTREAM_INLINE void google_file_access::async_find(std::stop_token stop, diagnostics& where,
                                                    access_handler done) const {
  std::optional<detail::google_file> file;
  try {
    const auto text = detail::read_secret(path_, warn_);
    if (text) file = detail::parse_google_file(path_, *text);
    if (!text && needed_) {
      throw error(
          errc::permission_denied,
          {.what = "there is no such file of credentials, or it may not be read", .url = path_});
    }
  } catch (const error& e) {
    where = e.where();
    return done(e.code(), std::nullopt);
  }
  if (!file) return done({}, std::nullopt);
  std::make_shared<detail::google_exchange>(far_, near_, *std::move(file), variables_,
                                            std::move(stop), where, std::move(done))
      ->begin();
}

MDSTREAM_INLINE access_chain default_google_access(runtime& threads,
                                                   const http_client_options& http,
                                                   const environment& variables,
                                                   warning_function warn) {
  namespace names = detail::google_variables;
  warn = detail::each_once(std::move(warn));
  const fetcher far(threads, http), near = fetcher::near(threads, http);
  std::vector<any_access> providers;
  if (const auto file = variables(names::file)) {
    providers.emplace_back(google_file_access(far, near, *file, true, variables, warn));
  }
  providers.emplace_back(google_file_access(
      far, near,
      detail::in_home(variables, variables(names::config_directory).value_or("~/.config/gcloud")) +
          "/application_default_credentials.json",
      false, variables, warn));
  const auto ask = [variables]() -> std::optional<token_request> {
    if (variables(names::no_metadata).value_or("") == "true") return std::nullopt;
    const auto host = variables(names::metadata_host);
    return token_request{.url = "http://" + host.value_or("metadata.google.internal") +
                                "/computeMetadata/v1/instance/service-accounts/default/token",
                         .headers = {{"Metadata-Flavor", "Google"}},
                         .required = host.has_value()};
  };
  providers.emplace_back(machine_access(near, "the machine's service account", ask));
  return access_chain(std::move(providers));
}

}  // namespace mdstream::inline v0::net
