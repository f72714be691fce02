#pragma once

#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/dbfs/options.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>

namespace mdstream::inline v0::detail::dbfs {

MDSTREAM_INLINE void place(std::string_view url, const detail::cloud::cloud_url& parts,
                           store::dbfs_settings& out) {
  std::string_view path = parts.prefix;
  if (!path.starts_with("Volumes/") && path != "Volumes") {
    out.root = path;
    return;
  }
  std::size_t end = std::string_view("Volumes").size();
  for (int part = 0; part < 3; ++part) {
    if (end >= path.size()) {
      throw detail::cloud::bad_url(url, "volumes are dbfs:/Volumes/<catalog>/<schema>/<volume>/…");
    }
    end = std::min(path.find('/', end + 1), path.size());
  }
  out.volume = '/' + std::string(path.substr(0, end));
  if (end != path.size()) out.root = path.substr(end + 1);
}

MDSTREAM_INLINE net::ini_section read_profile(const net::environment& variables,
                                              const warning_function& warn, const std::string& name,
                                              bool required, std::string& file) {
  file = net::detail::in_home(variables,
                              variables("DATABRICKS_CONFIG_FILE").value_or("~/.databrickscfg"));
  const auto text = net::detail::read_secret(file, warn);
  net::ini_sections sections =
      net::parse_ini(text.value_or(""), file, net::ini_comments::own_lines);
  const auto at = sections.find(name);
  if (at != sections.end()) return std::move(at->second);
  if (!required) return {};
  throw error(errc::invalid_argument, {.what = "there is no profile " + name, .url = file});
}

MDSTREAM_INLINE std::string workspace(std::string host) {
  host = detail::cloud::with_scheme(host.substr(0, host.find('?')));
  return detail::cloud::checked_endpoint(std::move(host), "Databricks");
}

}  // namespace mdstream::inline v0::detail::dbfs

namespace mdstream::inline v0::store {

MDSTREAM_INLINE dbfs_settings resolve_dbfs(std::string_view url, const dbfs_options& options) {
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos || net::detail::to_lower(url.substr(0, colon)) != "dbfs" ||
      (colon + 1 != url.size() && !url.substr(colon + 1).starts_with('/')) ||
      (url.substr(colon + 1).starts_with("//") && !url.substr(colon + 1).starts_with("///"))) {
    throw detail::cloud::bad_url(url, "URLs of Databricks are dbfs:/Volumes/… or dbfs:/…");
  }
  const std::size_t path = url.find_first_not_of('/', colon + 1);
  const detail::cloud::cloud_url parts = detail::cloud::parse_cloud_url(
      "dbfs:///" +
      std::string(path == std::string_view::npos ? std::string_view() : url.substr(path)));
  dbfs_settings out;
  detail::dbfs::place(url, parts, out);
  std::string host = options.endpoint, profile = options.profile;
  for (const auto& [name, value] : parts.parameters) {
    if (name != "endpoint" && name != "profile") {
      throw detail::cloud::bad_url(
          url, "dbfs:/ URLs have the parameters endpoint and profile, not \"" + name + '"');
    }
    (name == "endpoint" ? host : profile) = value;
    if (name == "endpoint") out.host_of_url = true;
  }
  const net::environment& variables = options.variables;
  if (profile.empty()) profile = variables("DATABRICKS_CONFIG_PROFILE").value_or("");
  // As the SDKs: variables come first, and where they say anything, only a named profile is read.
  const bool named = !profile.empty();
  const bool said =
      !options.token.empty() || net::first_set(variables, {"DATABRICKS_HOST", "DATABRICKS_TOKEN",
                                                           "DATABRICKS_CLIENT_SECRET"});
  net::ini_section section;
  std::string file;
  if (named || (!said && !options.credentials)) {
    section = detail::dbfs::read_profile(variables, options.warn, named ? profile : "DEFAULT",
                                         named, file);
  }
  const std::string of_profile = "the profile " + (named ? profile : "DEFAULT") + " in " + file;
  const auto find = [&](const char* variable, const char* setting, std::string& source) {
    if (auto value = variables(variable)) {
      source = std::string("the environment (") + variable + ')';
      return *std::move(value);
    }
    source = of_profile;
    return net::setting(section, setting).value_or("");
  };
  std::string ignored;
  if (host.empty()) host = find("DATABRICKS_HOST", "host", ignored);
  if (host.empty()) {
    throw detail::cloud::bad_url(
        url, "which workspace? Set DATABRICKS_HOST, or host in ~/.databrickscfg");
  }
  out.host = detail::dbfs::workspace(std::move(host));
  out.token = options.token;
  out.token_source = "the program";
  if (out.token.empty()) out.token = find("DATABRICKS_TOKEN", "token", out.token_source);
  out.client_id = find("DATABRICKS_CLIENT_ID", "client_id", ignored);
  out.client_secret = find("DATABRICKS_CLIENT_SECRET", "client_secret", out.client_source);
  const std::string way = find("DATABRICKS_AUTH_TYPE", "auth_type", ignored);
  if (way == "pat") {
    out.client_secret.clear();
  } else if (way == "oauth-m2m") {
    out.token.clear();
  } else if (!way.empty() && !options.credentials) {
    throw error(errc::unsupported,
                "DATABRICKS_AUTH_TYPE may be pat or oauth-m2m: other ways in are not built");
  }
  return out;
}

}  // namespace mdstream::inline v0::store
