#pragma once

#include <mdstream/net/ini.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/oci/regions.hpp>
#include <mdstream/store/detail/oci/variables.hpp>
#include <mdstream/store/oci/options.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mdstream::inline v0::detail::oci {

MDSTREAM_INLINE bool is_name(std::string_view text) noexcept {
  if (text.empty() || text.size() > 256) return false;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_' && c != '.') return false;
  }
  return true;
}

MDSTREAM_INLINE std::string take_namespace(std::string& url) {
  const std::size_t begin = url.find("://");
  if (begin == std::string::npos) return {};
  const std::size_t end = std::min(url.find_first_of("/?", begin + 3), url.size());
  const std::size_t at = url.find('@', begin);
  if (at == std::string::npos || at > end) return {};
  std::string found = url.substr(at + 1, end - at - 1);
  const bool both = is_name(std::string_view(url).substr(begin + 3, at - begin - 3));
  if (!both || !is_name(found)) {
    throw detail::cloud::bad_url(url, "this URL has to be oci://bucket@namespace/prefix");
  }
  url.erase(at, end - at);
  return found;
}

MDSTREAM_INLINE store::oci_profile read_profile(const net::environment& variables,
                                                const warning_function& warn,
                                                const std::string& name, bool required) {
  const auto chosen = net::first_set(variables, {variable::cli_config_file, variable::config_file});
  const std::string file = net::detail::in_home(variables, chosen.value_or("~/.oci/config"));
  const auto text = net::detail::read_settings(file);
  const net::ini_sections sections =
      net::parse_ini(text.value_or(""), file, net::ini_comments::own_lines);
  const auto at = sections.find(name), common = sections.find("DEFAULT");
  if (at == sections.end() && (required || (chosen && !text))) {
    throw error(errc::invalid_argument, {.what = "there is no profile " + name, .url = file});
  }
  const auto of = [&](const char* setting) {
    for (const auto& section : {at, common}) {
      if (section == sections.end()) continue;
      if (auto value = net::setting(section->second, setting)) return *std::move(value);
    }
    return std::string();
  };
  // A session's profile is one without a user, also beneath a DEFAULT that has one.
  const bool is_session = at != sections.end() && net::setting(at->second, "security_token_file") &&
                          !net::setting(at->second, "user");
  std::string pass_phrase = of("pass_phrase");
  if (!pass_phrase.empty()) net::detail::warn_of_open_file(file, warn);
  return {.tenancy = of("tenancy"),
          .user = is_session ? "" : of("user"),
          .fingerprint = of("fingerprint"),
          .region = of("region"),
          .key_file = of("key_file"),
          .pass_phrase = std::move(pass_phrase),
          .security_token_file = of("security_token_file"),
          .source = "the profile " + name + " in " + file};
}

MDSTREAM_INLINE void put_variables(const net::environment& variables, store::oci_profile& into) {
  const auto put = [&](std::string& setting, const char* variable) {
    auto value = variables(variable);
    if (value) setting = *std::move(value);
    return value.has_value();
  };
  const bool user = put(into.user, variable::user);
  const bool text = put(into.key_text, variable::key_content);
  const bool file = put(into.key_file, variable::key_file);
  put(into.tenancy, variable::tenancy);
  put(into.fingerprint, variable::fingerprint);
  put(into.pass_phrase, variable::pass_phrase);
  put(into.security_token_file, variable::security_token_file);
  put(into.auth, variable::auth);
  if (!put(into.region, variable::cli_region) && into.region.empty())
    put(into.region, variable::region);
  if (into.region.empty()) put(into.region, variable::resource_region);
  if (user || text) into.source = "the environment (OCI_CLI_USER, OCI_CLI_KEY_CONTENT)";
  if (user && file && !text) into.source = "the environment (OCI_CLI_USER, OCI_CLI_KEY_FILE)";
}

}  // namespace mdstream::inline v0::detail::oci

namespace mdstream::inline v0::store {

MDSTREAM_INLINE oci_settings resolve_oci(std::string_view url, const oci_options& options) {
  std::string plain(url);
  std::string named = detail::oci::take_namespace(plain);
  const detail::cloud::cloud_url parts = detail::cloud::parse_cloud_url(plain);
  if (parts.scheme != "oci" || !detail::oci::is_name(parts.place)) {
    throw detail::cloud::bad_url(
        url, "this URL names no bucket: oci://bucket/prefix or oci://bucket@namespace/prefix");
  }
  oci_settings out{.bucket = parts.place, .root = parts.prefix, .endpoint = options.endpoint};
  out.shown = "oci://" + parts.place + (named.empty() ? "" : '@' + named);
  if (!options.namespace_name.empty()) named = options.namespace_name;
  out.namespace_name = std::move(named);

  const net::environment& variables = options.variables;
  std::string region = options.region, profile = options.profile;
  for (const auto& [name, value] : parts.parameters) {
    if (name == "endpoint") {
      out.endpoint = value;
    } else if (name == "region") {
      region = value;
    } else if (name == "profile") {
      profile = value;
    } else {
      throw detail::cloud::bad_url(
          url, "oci:// URLs have the parameters endpoint, region and profile, not \"" + name + '"');
    }
  }
  if (profile.empty()) profile = variables(detail::oci::variable::profile).value_or("");
  const bool named_profile = !profile.empty();
  if (!options.credentials || named_profile || region.empty()) {
    out.profile =
        detail::oci::read_profile(variables, options.warn, named_profile ? profile : "DEFAULT",
                                  named_profile && !options.credentials);
    detail::oci::put_variables(variables, out.profile);
  }
  if (region.empty()) region = out.profile.region;
  if (out.endpoint.empty()) out.endpoint = variables(detail::oci::variable::endpoint).value_or("");
  if (out.endpoint.empty()) {
    if (region.empty()) {
      throw detail::cloud::bad_url(plain,
                                   "which region? Set OCI_CLI_REGION, or region in ~/.oci/config");
    }
    region = detail::oci_region(region);
    if (!detail::oci::is_name(region) || region.find('.') != std::string::npos) {
      throw detail::cloud::bad_url(url, "the region is not one of OCI's");
    }
    out.endpoint = "https://objectstorage." + region + '.' +
                   detail::oci_domain(
                       region, variables(detail::oci::variable::realm).value_or("oraclecloud.com"));
  }
  out.endpoint = detail::cloud::checked_endpoint(std::move(out.endpoint), "OCI");
  return out;
}

}  // namespace mdstream::inline v0::store
