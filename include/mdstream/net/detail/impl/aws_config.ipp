#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/aws_config.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE const ini_section* aws_config::active() const {
  const auto at = profiles.find(profile);
  return at == profiles.end() ? nullptr : &at->second;
}

MDSTREAM_INLINE std::optional<std::string> aws_config::get(std::string_view name) const {
  const ini_section* const section = active();
  return section == nullptr ? std::nullopt : setting(*section, name);
}

MDSTREAM_INLINE std::optional<std::string> aws_config::get(std::string_view service,
                                                           std::string_view name) const {
  const auto at = services.find(get("services").value_or(""));
  if (at == services.end()) return std::nullopt;
  return setting(at->second, std::string(service).append(".").append(name));
}

}  // namespace mdstream::inline v0::net

namespace mdstream::inline v0::net::detail {

/// The name behind a section's mark. One with blanks may be in quotes.
MDSTREAM_INLINE std::string aws_section_name(std::string_view title, std::string_view mark) {
  std::string_view name = mdstream::detail::trimmed(title.substr(mark.size()));
  const bool quoted = name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
                      name.back() == name.front();
  if (quoted) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

/// Sections by the name of their profile: `[profile x]` in the config, `[x]` in the credentials.
MDSTREAM_INLINE void add_aws_sections(aws_config& out, const ini_sections& sections,
                                      bool is_config) {
  for (const auto& [title, settings] : sections) {
    constexpr std::string_view profile_mark = "profile ", session_mark = "sso-session ",
                               services_mark = "services ";
    const std::string_view name = title;
    if (is_config && name.starts_with(session_mark)) {
      out.sso_sessions[aws_section_name(name, session_mark)] = settings;
      continue;
    }
    if (is_config && name.starts_with(services_mark)) {
      out.services[aws_section_name(name, services_mark)] = settings;
      continue;
    }
    const bool marked = is_config && name.starts_with(profile_mark);
    if (is_config && !marked && name != "default") continue;  // kinds that are yet to come
    ini_section& profile =
        out.profiles[marked ? aws_section_name(name, profile_mark) : std::string(name)];
    for (const auto& [key, value] : settings) profile[key] = value;
  }
}

/// Whether a config has what belongs into the credentials.
MDSTREAM_INLINE bool has_keys(const ini_sections& sections) {
  return std::ranges::any_of(sections, [](const auto& section) {
    return section.second.contains("aws_secret_access_key") ||
           section.second.contains("aws_session_token");
  });
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE aws_config load_aws_config(const environment& variables, std::string profile,
                                           const warning_function& warn) {
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
