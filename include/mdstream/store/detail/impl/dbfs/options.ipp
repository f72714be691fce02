#pragma once

#include <mdstream/net/quote.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/dbfs/options.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>

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

/// Where a setting stands: in the environment, otherwise in a profile.
class setting_source {
 public:
  setting_source(const store::dbfs_options& options, const std::string& profile)
      : variables_(options.variables) {
    // As the SDKs: variables come first, and where they say anything, only a named profile is read.
    const bool named = !profile.empty();
    const bool said =
        !options.token.empty() || options.credentials ||
        net::first_set(variables_,
                       {"DATABRICKS_HOST", "DATABRICKS_TOKEN", "DATABRICKS_CLIENT_SECRET",
                        "DATABRICKS_OIDC_TOKEN_ENV", "DATABRICKS_OIDC_TOKEN_FILEPATH",
                        "DATABRICKS_OIDC_TOKEN_FILE", "DATABRICKS_AZURE_RESOURCE_ID",
                        "ARM_CLIENT_SECRET", "ARM_USE_MSI"});
    if (!named && said) return;
    std::string file;
    section_ = read_profile(variables_, options.warn, named ? profile : "DEFAULT", named, file);
    of_profile_ = "the profile " + (named ? profile : "DEFAULT") + " in " + file;
  }

  [[nodiscard]] std::string find(const char* variable, const char* setting,
                                 std::string* source = nullptr) const {
    const auto value = variables_(variable);
    if (source != nullptr) {
      *source = value ? std::string("the environment (") + variable + ')' : of_profile_;
    }
    return value ? *value : net::setting(section_, setting).value_or("");
  }

  void find_logins(store::dbfs_settings& out) const {
    out.token = find("DATABRICKS_TOKEN", "token", &out.token_source);
    out.client_id = find("DATABRICKS_CLIENT_ID", "client_id");
    out.client_secret = find("DATABRICKS_CLIENT_SECRET", "client_secret", &out.client_source);
    out.oidc_variable = find("DATABRICKS_OIDC_TOKEN_ENV", "oidc_token_env");
    out.oidc_file = find("DATABRICKS_OIDC_TOKEN_FILEPATH", "oidc_token_filepath");
    if (out.oidc_file.empty()) {
      out.oidc_file = variables_("DATABRICKS_OIDC_TOKEN_FILE").value_or("");  // its older name
    }
    out.azure_client_id = find("ARM_CLIENT_ID", "azure_client_id");
    out.azure_client_secret = find("ARM_CLIENT_SECRET", "azure_client_secret");
    out.azure_tenant_id = find("ARM_TENANT_ID", "azure_tenant_id");
    out.azure_resource_id = find("DATABRICKS_AZURE_RESOURCE_ID", "azure_workspace_resource_id");
    out.azure_use_msi = net::detail::to_lower(find("ARM_USE_MSI", "azure_use_msi")) == "true";
    out.azure_environment = net::detail::to_lower(find("ARM_ENVIRONMENT", "azure_environment"));
    out.cli_path = find("DATABRICKS_CLI_PATH", "databricks_cli_path");
    out.auth_type = find("DATABRICKS_AUTH_TYPE", "auth_type");
  }

 private:
  const net::environment& variables_;
  net::ini_section section_{};
  std::string of_profile_{};
};

MDSTREAM_INLINE std::string all_auth_types() {
  std::string out;
  for (const std::string_view each : auth_types) {
    out += (out.empty() ? "" : ", ") + std::string(each);
  }
  return out;
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
  out.profile = profile;
  const detail::dbfs::setting_source from(options, profile);
  if (host.empty()) host = from.find("DATABRICKS_HOST", "host");
  if (host.empty()) {
    throw detail::cloud::bad_url(
        url, "which workspace? Set DATABRICKS_HOST, or host in ~/.databrickscfg");
  }
  out.host = detail::dbfs::workspace(std::move(host));
  from.find_logins(out);
  if (!options.token.empty()) {
    out.token = options.token;
    out.token_source = "the program";
    out.auth_type = "pat";
  }
  const bool is_known =
      out.auth_type.empty() || std::ranges::find(detail::dbfs::auth_types, out.auth_type) !=
                                   std::end(detail::dbfs::auth_types);
  if (!is_known && !options.credentials) {
    throw error(errc::unsupported, "DATABRICKS_AUTH_TYPE \"" + net::quotable(out.auth_type, {}) +
                                       "\" is not supported. It may be " +
                                       detail::dbfs::all_auth_types());
  }
  return out;
}

}  // namespace mdstream::inline v0::store
