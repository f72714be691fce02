#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/store/detail/cloud/settings.hpp>
#include <mdstream/store/detail/dbfs/keys.hpp>
#include <mdstream/store/detail/dbfs/logins.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail::dbfs {

/// One of Azure's clouds.
struct azure_cloud {
  std::string_view environment, domain, authority, management;
};

inline constexpr azure_cloud azure_clouds[] = {
    {"public", "azuredatabricks.net", "https://login.microsoftonline.com",
     "https://management.core.windows.net"},
    {"usgovernment", "databricks.azure.us", "https://login.microsoftonline.us",
     "https://management.core.usgovcloudapi.net"},
    {"china", "databricks.azure.cn", "https://login.chinacloudapi.cn",
     "https://management.core.chinacloudapi.cn"}};

/// The cloud of a workspace's host; nothing where it is not of Azure.
MDSTREAM_INLINE const azure_cloud* cloud_of_host(std::string_view host) {
  const auto url = net::parse_http_url(std::string(host));
  if (!url) return nullptr;
  const auto* const at = std::ranges::find_if(azure_clouds, [&](const azure_cloud& each) {
    return url->host.ends_with('.' + std::string(each.domain));
  });
  return at == std::end(azure_clouds) ? nullptr : at;
}

MDSTREAM_INLINE const azure_cloud& cloud_of(const store::dbfs_settings& settings) {
  if (settings.azure_environment.empty()) {
    const azure_cloud* const of_host = cloud_of_host(settings.host);
    return of_host == nullptr ? azure_clouds[0] : *of_host;
  }
  const auto* const at =
      std::ranges::find(azure_clouds, settings.azure_environment, &azure_cloud::environment);
  if (at != std::end(azure_clouds)) return *at;
  throw error(errc::invalid_argument, "ARM_ENVIRONMENT may be public, usgovernment or china");
}

MDSTREAM_INLINE bool is_of_azure(std::string_view host) { return cloud_of_host(host) != nullptr; }

MDSTREAM_INLINE net::token_request exchange_question(const store::dbfs_settings& settings,
                                                     std::string subject) {
  bounds(settings).require("the identity provider", settings.host);
  std::vector<std::pair<std::string, std::string>> form{
      {"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
      {"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
      {"subject_token", std::move(subject)},
      {"scope", "all-apis"}};
  if (!settings.client_id.empty()) form.emplace_back("client_id", settings.client_id);
  return {.url = settings.host + "/oidc/v1/token", .form = net::form_of(form)};
}

MDSTREAM_INLINE std::optional<net::token_request> variable_question(
    const store::dbfs_settings& settings, const net::environment& variables) {
  const std::string name =
      settings.oidc_variable.empty() ? "DATABRICKS_OIDC_TOKEN" : settings.oidc_variable;
  const auto token = variables(name);
  if (!token) return std::nullopt;
  return exchange_question(settings, net::detail::token_of_file(*token, name));
}

MDSTREAM_INLINE std::optional<net::token_request> file_question(
    const store::dbfs_settings& settings) {
  const std::string& file = settings.oidc_file;
  if (file.empty()) return std::nullopt;
  const auto text = net::detail::read_settings(file);
  if (!text) throw net::detail::no_token("the identity provider", "there is no file " + file);
  return exchange_question(settings, net::detail::token_of_file(*text, file));
}

MDSTREAM_INLINE std::optional<net::token_request> entra_question(
    const store::dbfs_settings& settings, const net::environment& variables,
    const std::string& scope) {
  if (settings.azure_client_id.empty() || settings.azure_client_secret.empty()) {
    return std::nullopt;
  }
  if (settings.azure_tenant_id.empty()) {
    throw error(errc::invalid_argument,
                "a service principal of Entra needs its tenant: set ARM_TENANT_ID");
  }
  std::string authority = detail::cloud::with_scheme(
      variables("AZURE_AUTHORITY_HOST").value_or(std::string(cloud_of(settings).authority)));
  while (authority.ends_with('/')) authority.pop_back();
  return net::token_request{
      .url = authority + '/' + net::percent_encode(settings.azure_tenant_id) + "/oauth2/v2.0/token",
      .form = net::form_of({{"grant_type", "client_credentials"},
                            {"client_id", settings.azure_client_id},
                            {"client_secret", settings.azure_client_secret},
                            {"scope", scope}})};
}

MDSTREAM_INLINE std::optional<net::token_request> machine_question(
    const store::dbfs_settings& settings, const net::environment& variables) {
  if (!settings.azure_use_msi) return std::nullopt;
  std::string host =
      variables("AZURE_POD_IDENTITY_AUTHORITY_HOST").value_or("http://169.254.169.254");
  while (host.ends_with('/')) host.pop_back();
  std::string url = host + "/metadata/identity/oauth2/token?api-version=2018-02-01&resource=" +
                    std::string(entra_resource);
  if (!settings.azure_client_id.empty()) {
    url += "&client_id=" + net::percent_encode(settings.azure_client_id);
  }
  return net::token_request{
      .url = std::move(url), .headers = {{"Metadata", "true"}}, .required = true};
}

MDSTREAM_INLINE std::string management_scope(const store::dbfs_settings& settings) {
  return std::string(cloud_of(settings).management) + "/.default";
}

MDSTREAM_INLINE github_access::github_access(net::fetcher from, store::dbfs_settings settings,
                                             net::environment variables)
    : from_(std::move(from)), settings_(std::move(settings)), variables_(std::move(variables)) {}

MDSTREAM_INLINE void github_access::async_find(std::stop_token stop, diagnostics& where,
                                               net::access_handler done) const {
  const auto url = variables_("ACTIONS_ID_TOKEN_REQUEST_URL"),
             token = variables_("ACTIONS_ID_TOKEN_REQUEST_TOKEN");
  if (!url || !token || settings_.client_id.empty()) return done({}, std::nullopt);
  const std::string audience =
      variables_("DATABRICKS_TOKEN_AUDIENCE").value_or(settings_.host + "/oidc/v1/token");
  const auto make = [url = *url + "&audience=" + net::percent_encode(audience), token = *token] {
    net::detail::require_private(source, url);
    return net::http_request{.url = url, .headers = {{"Authorization", "Bearer " + token}}};
  };
  from_.send(
      make, stop, where,
      [from = from_, settings = settings_, stop, &where, done = std::move(done)](
          std::error_code code, const net::http_response& answer) mutable {
        std::optional<net::token_request> ask;
        try {
          if (!code && !answer.ok()) {
            throw net::detail::no_token(source, "GitHub answers " + std::to_string(answer.status));
          }
          if (!code) {
            ask = exchange_question(settings, json::parse(answer.text).get<std::string>("value"));
          }
        } catch (const error& e) {
          where = e.where();
          code = e.code();
        }
        if (code) return done(code, std::nullopt);
        net::ask_token(
            from, [ask = *std::move(ask)](auto) { return ask; }, source, std::move(stop), where,
            std::move(done));
      });
}

MDSTREAM_INLINE entra_access::entra_access(net::fetcher from, const store::dbfs_settings& settings,
                                           net::environment variables)
    : workspace_(from, source,
                 [settings, variables] {
                   return entra_question(settings, variables,
                                         std::string(entra_resource) + "/.default");
                 }),
      management_(from, source,
                  [settings, variables] {
                    return entra_question(settings, variables, management_scope(settings));
                  }),
      resource_id_(settings.azure_resource_id) {}

/// Both tokens go along.
MDSTREAM_INLINE net::access with_management(net::access keys, const net::access& management,
                                            const std::string& resource_id) {
  keys.authorize = [inner = std::move(keys.authorize), token = management.secrets.front(),
                    resource_id](net::http_request& request, net::wall_clock::time_point at) {
    inner(request, at);
    request.headers.push_back({"X-Databricks-Azure-SP-Management-Token", token});
    request.headers.push_back({"X-Databricks-Azure-Workspace-Resource-Id", resource_id});
  };
  keys.secrets.insert(keys.secrets.end(), management.secrets.begin(), management.secrets.end());
  if (management.expires) {
    keys.expires = std::min(keys.expires.value_or(*management.expires), *management.expires);
  }
  return keys;
}

MDSTREAM_INLINE void entra_access::async_find(std::stop_token stop, diagnostics& where,
                                              net::access_handler done) const {
  if (resource_id_.empty()) return workspace_.async_find(std::move(stop), where, std::move(done));
  workspace_.async_find(
      stop, where,
      [management = management_, resource_id = resource_id_, stop, &where, done = std::move(done)](
          std::error_code code, std::optional<net::access> keys) mutable {
        if (code || !keys) return done(code, std::move(keys));
        management.async_find(
            std::move(stop), where,
            [keys = *std::move(keys), resource_id = std::move(resource_id), done = std::move(done)](
                std::error_code failure, std::optional<net::access> second) mutable {
              if (failure || !second) return done(failure, std::nullopt);
              done({}, with_management(std::move(keys), *second, resource_id));
            });
      });
}

}  // namespace mdstream::inline v0::detail::dbfs
