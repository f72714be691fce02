#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/detail/google_files.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace mdstream::inline v0::net::detail {

/// An object of such a file. Errors name the file and members, and quote nothing.
class google_member {
 public:
  google_member(const std::string& path, const json::value& content)
      : path_(path), content_(content) {}

  [[nodiscard]] bool has(const char* name) const {
    const json::value* const found = content_.find(name);
    return found != nullptr && !found->is_null();
  }

  [[nodiscard]] std::optional<google_member> object(const char* name) const {
    if (!has(name)) return std::nullopt;
    const json::value& found = *content_.find(name);
    if (found.type() != json::kind::object)
      refuse("its \"" + std::string(name) + "\" is no object");
    return google_member(path_, found);
  }

  [[nodiscard]] std::string text(const char* name) const {
    if (auto found = find(name)) return *std::move(found);
    refuse("it has no text \"" + std::string(name) + '"');
  }

  [[nodiscard]] std::string text_or(const char* name, const char* otherwise) const {
    return find(name).value_or(otherwise);
  }

  [[nodiscard]] std::vector<std::string> texts(const char* name) const {
    std::vector<std::string> out;
    if (!has(name)) return out;
    const json::value& found = *content_.find(name);
    if (found.type() != json::kind::array) refuse_list(name);
    for (const json::value& each : found.as<json::array>()) {
      if (each.type() != json::kind::string) refuse_list(name);
      out.push_back(each.as<std::string>());
    }
    return out;
  }

  [[nodiscard]] std::optional<std::int64_t> number(const char* name) const {
    if (!has(name)) return std::nullopt;
    try {
      return content_.get<std::int64_t>(name);
    } catch (const error&) {
      refuse("its \"" + std::string(name) + "\" is no whole number");
    }
  }

  [[nodiscard]] std::vector<http_header> headers() const {
    std::vector<http_header> out;
    for (const auto& [name, value] : content_.as<json::object>()) {
      if (value.type() != json::kind::string) refuse("one of its headers is no text");
      out.push_back({name, value.as<std::string>()});
    }
    return out;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw error(errc::invalid_argument,
                {.what = "these are no credentials of Google: " + why, .url = path_});
  }

 private:
  [[nodiscard]] std::optional<std::string> find(const char* name) const {
    const json::value* const found = content_.find(name);
    if (found == nullptr || found->type() != json::kind::string) return std::nullopt;
    return found->as<std::string>();
  }
  [[noreturn]] void refuse_list(const char* name) const {
    refuse("its \"" + std::string(name) + "\" is no list of texts");
  }

  const std::string& path_;
  const json::value& content_;
};

MDSTREAM_INLINE google_service_account google_service_account_of(const google_member& in) {
  return {.email = in.text("client_email"),
          .private_key = in.text("private_key"),
          .key_id = in.text_or("private_key_id", ""),
          .token_url = in.text_or("token_uri", "https://oauth2.googleapis.com/token")};
}

MDSTREAM_INLINE google_user google_user_of(const google_member& in) {
  return {.client_id = in.text("client_id"),
          .client_secret = in.text("client_secret"),
          .refresh_token = in.text("refresh_token"),
          .token_url = in.text_or("token_uri", "https://oauth2.googleapis.com/token")};
}

MDSTREAM_INLINE google_token_form google_token_form_of(const google_member& source) {
  const auto format = source.object("format");
  if (!format || format->text_or("type", "text") == "text") return {};
  return {.field = format->text_or("subject_token_field_name", "access_token")};
}

MDSTREAM_INLINE google_aws_source google_aws_source_of(const google_member& source) {
  if (source.text("environment_id") != "aws1") {
    source.refuse("the environment_id of its credential_source is not aws1, the only one known");
  }
  google_aws_source out{.region_url = source.text_or("region_url", ""),
                        .keys_url = source.text_or("url", ""),
                        .session_token_url = source.text_or("imdsv2_session_token_url", ""),
                        .identity_url = source.text("regional_cred_verification_url")};
  // It is signed, and never asked from here.
  if (!out.identity_url.starts_with("https://")) {
    source.refuse("its regional_cred_verification_url is not https");
  }
  return out;
}

MDSTREAM_INLINE google_program_source google_program_source_of(const google_member& program) {
  using std::chrono::milliseconds;
  google_program_source out{
      .command = program.text("command"),
      .output_file = program.text_or("output_file", ""),
      .most_time = milliseconds(program.number("timeout_millis").value_or(30'000))};
  if (out.most_time < milliseconds(5'000) || out.most_time > milliseconds(120'000)) {
    program.refuse("its timeout_millis is not between 5000 and 120000");
  }
  return out;
}

MDSTREAM_INLINE google_federation google_federation_of(const google_member& in) {
  google_federation out{.audience = in.text("audience"),
                        .token_type = in.text("subject_token_type"),
                        .token_url = in.text("token_url"),
                        .workforce_project = in.text_or("workforce_pool_user_project", "")};
  const auto source = in.object("credential_source");
  if (!source) in.refuse("it has no \"credential_source\"");
  if (source->has("environment_id")) {
    out.source = google_aws_source_of(*source);
  } else if (source->has("file")) {
    out.source = google_file_source{source->text("file"), google_token_form_of(*source)};
  } else if (source->has("url")) {
    const auto headers = source->object("headers");
    out.source = google_url_source{source->text("url"),
                                   headers ? headers->headers() : std::vector<http_header>(),
                                   google_token_form_of(*source)};
  } else if (const auto program = source->object("executable")) {
    out.source = google_program_source_of(*program);
  } else {
    in.refuse("its credential_source is neither a file, a URL, AWS nor a program (executable)");
  }
  return out;
}

MDSTREAM_INLINE google_impersonation google_impersonation_of(const google_member& in) {
  google_impersonation out{.url = in.text("service_account_impersonation_url"),
                           .delegates = in.texts("delegates")};
  const auto how = in.object("service_account_impersonation");
  const auto seconds = how ? how->number("token_lifetime_seconds") : std::nullopt;
  if (seconds) out.lifetime = std::to_string(*seconds) + 's';
  return out;
}

/// A project, as a header may hold it: `my-project`, `example.com:my-project`.
MDSTREAM_INLINE std::string google_quota_project_of(const google_member& in) {
  std::string out = in.text_or("quota_project_id", "");
  const bool plain = std::ranges::all_of(out, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == ':';
  });
  if (!plain) in.refuse("its quota_project_id is no name of a project");
  return out;
}

MDSTREAM_INLINE decltype(google_file::who) google_identity_of(const google_member& in,
                                                              const std::string& kind) {
  if (kind == "service_account") return google_service_account_of(in);
  if (kind == "authorized_user") return google_user_of(in);
  if (kind == "external_account") return google_federation_of(in);
  in.refuse(
      "its type is not one of service_account, authorized_user, external_account and "
      "impersonated_service_account");
}

MDSTREAM_INLINE google_file parse_google_file(const std::string& path, std::string_view text) {
  const json::value content = parse_json_file(text, path);
  const google_member all(path, content);
  google_file out{
      .path = path, .kind = all.text("type"), .quota_project = google_quota_project_of(all)};
  if (out.kind != "impersonated_service_account") {
    out.who = google_identity_of(all, out.kind);
    if (out.kind == "external_account" && all.has("service_account_impersonation_url")) {
      out.impersonated = google_impersonation_of(all);
    }
    return out;
  }
  const auto source = all.object("source_credentials");
  if (!source) all.refuse("it has no \"source_credentials\"");
  const std::string kind = source->text("type");
  if (kind == out.kind || source->has("service_account_impersonation_url")) {
    all.refuse("its source_credentials impersonate an account themselves: use delegates");
  }
  out.who = google_identity_of(*source, kind);
  out.impersonated = google_impersonation_of(all);
  return out;
}

}  // namespace mdstream::inline v0::net::detail
