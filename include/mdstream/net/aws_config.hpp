#pragma once

/// What AWS's command line and SDKs share on a machine: ~/.aws/config and ~/.aws/credentials.

#include <mdstream/core/error.hpp>
#include <mdstream/net/environment.hpp>
#include <mdstream/net/ini.hpp>
#include <mdstream/net/settings_file.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::net {

/// Both files, merged.
struct aws_config {
  std::string config_file{}, credentials_file{};  ///< where they were looked for
  ini_sections profiles{};
  ini_sections sso_sessions{};
  std::string profile{};        ///< the one that is used
  bool profile_chosen = false;  ///< it was asked for by name

  /// The settings of the profile that is used; none where it does not exist.
  [[nodiscard]] const ini_section* active() const {
    const auto at = profiles.find(profile);
    return at == profiles.end() ? nullptr : &at->second;
  }
  /// A setting of the profile that is used.
  [[nodiscard]] std::optional<std::string> get(std::string_view name) const {
    const ini_section* const section = active();
    return section == nullptr ? std::nullopt : setting(*section, name);
  }
};

namespace detail {

/// The name behind a section's mark. One with blanks may be in quotes.
[[nodiscard]] inline std::string aws_section_name(std::string_view title, std::string_view mark) {
  std::string_view name = trimmed(title.substr(mark.size()));
  const bool quoted = name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
                      name.back() == name.front();
  if (quoted) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

/// Sections by the name of their profile: `[profile x]` in the config, `[x]` in the credentials.
inline void add_aws_sections(aws_config& out, const ini_sections& sections, bool is_config) {
  for (const auto& [title, settings] : sections) {
    constexpr std::string_view profile_mark = "profile ", session_mark = "sso-session ";
    const std::string_view name = title;
    if (is_config && name.starts_with(session_mark)) {
      out.sso_sessions[aws_section_name(name, session_mark)] = settings;
      continue;
    }
    const bool marked = is_config && name.starts_with(profile_mark);
    if (is_config && !marked && name != "default") continue;  // services and what is yet to come
    ini_section& profile =
        out.profiles[marked ? aws_section_name(name, profile_mark) : std::string(name)];
    for (const auto& [key, value] : settings) profile[key] = value;
  }
}

/// Whether a config has what belongs into the credentials.
[[nodiscard]] inline bool has_keys(const ini_sections& sections) {
  return std::ranges::any_of(sections, [](const auto& section) {
    return section.second.contains("aws_secret_access_key") ||
           section.second.contains("aws_session_token");
  });
}

}  // namespace detail

/// Reads AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE (default: ~/.aws/config and
/// ~/.aws/credentials; of equal settings the credentials' count) for the given profile, else
/// AWS_PROFILE's, AWS_DEFAULT_PROFILE's, or `default`. Throws `errc::invalid_argument`, with file
/// and line, where one can not be understood, and where a profile that was asked for is in neither.
/// `warn` is told of files with keys that everybody may read.
[[nodiscard]] inline aws_config load_aws_config(const environment& variables,
                                                std::string profile = {},
                                                const warning_function& warn = {}) {
  aws_config out;
  out.config_file =
      detail::in_home(variables, variables("AWS_CONFIG_FILE").value_or("~/.aws/config"));
  out.credentials_file = detail::in_home(
      variables, variables("AWS_SHARED_CREDENTIALS_FILE").value_or("~/.aws/credentials"));
  if (profile.empty()) {
    profile = first_set(variables, {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}).value_or("");
  }
  out.profile_chosen = !profile.empty();
  out.profile = out.profile_chosen ? std::move(profile) : "default";
  if (const auto text = detail::read_settings(out.config_file)) {
    const ini_sections sections = parse_ini(*text, out.config_file);
    if (detail::has_keys(sections)) detail::warn_of_open_file(out.config_file, warn);
    detail::add_aws_sections(out, sections, true);
  }
  if (const auto text = detail::read_secret(out.credentials_file, warn)) {
    detail::add_aws_sections(out, parse_ini(*text, out.credentials_file), false);
  }
  if (out.profile_chosen && out.active() == nullptr) {
    throw error(errc::invalid_argument, "the AWS profile \"" + out.profile + "\" is neither in " +
                                            out.config_file + " nor in " + out.credentials_file);
  }
  return out;
}

}  // namespace mdstream::inline v0::net
