#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/net/azure_signature.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/azure/cli_cache.hpp>
#include <mdstream/store/detail/azure/keys.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/version.hpp>

#include <memory>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::access azure_key_access(std::string account, const std::string& key,
                                             std::string source) {
  auto bytes = from_base64(key);
  if (!bytes || bytes->empty()) {
    throw error(errc::invalid_argument, "the account key of " + source + " is not base64");
  }
  auto keys = std::make_shared<const net::azure_account_key>(
      net::azure_account_key{std::move(account), *std::move(bytes)});
  return {.authorize =
              [keys](net::http_request& request, net::wall_clock::time_point at) {
                net::sign_for_azure(request, *keys, at);
              },
          .secrets = {key},
          .source = std::move(source)};
}

MDSTREAM_INLINE net::access azure_sas_access(std::string sas, std::string source) {
  std::vector<std::string> secrets{sas};
  if (const std::size_t at = sas.find("sig="); at != std::string::npos) {
    secrets.push_back(sas.substr(at + 4, sas.find('&', at) - at - 4));
    if (auto plain = net::percent_decode(secrets.back())) secrets.push_back(*std::move(plain));
  }
  return {.authorize =
              [sas = std::move(sas)](net::http_request& request, net::wall_clock::time_point) {
                request.url += (request.url.find('?') == std::string::npos ? '?' : '&') + sas;
              },
          .secrets = std::move(secrets),
          .source = std::move(source),
          .is_token = true};
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail::azure {

MDSTREAM_INLINE std::optional<net::token_request> secret_question(
    const net::environment& variables) {
  const auto tenant = variables("AZURE_TENANT_ID"), client = variables("AZURE_CLIENT_ID"),
             secret = variables("AZURE_CLIENT_SECRET");
  if (!tenant || !client || !secret) return std::nullopt;
  return ask_tenant(
      authority(variables), *tenant,
      {{"grant_type", "client_credentials"}, {"client_id", *client}, {"client_secret", *secret}});
}

MDSTREAM_INLINE std::optional<net::token_request> workload_question(
    const net::environment& variables) {
  const auto tenant = variables("AZURE_TENANT_ID"), client = variables("AZURE_CLIENT_ID"),
             file = variables("AZURE_FEDERATED_TOKEN_FILE");
  if (!tenant || !client || !file) return std::nullopt;
  const auto token = net::detail::read_settings(*file);
  if (!token) throw net::detail::no_token("the workload identity", "there is no file " + *file);
  return ask_tenant(
      authority(variables), *tenant,
      {{"grant_type", "client_credentials"},
       {"client_id", *client},
       {"client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
       {"client_assertion", net::detail::token_of_file(*token, *file)}});
}

MDSTREAM_INLINE std::optional<net::token_request> machine_question(
    const net::environment& variables) {
  const std::string who = variables("AZURE_CLIENT_ID")
                              ? "&client_id=" + net::percent_encode(*variables("AZURE_CLIENT_ID"))
                              : "";
  const std::string what = "&resource=" + net::percent_encode(resource) + who;
  if (const auto service = variables("IDENTITY_ENDPOINT")) {
    net::token_request out{.url = *service + "?api-version=2019-08-01" + what, .required = true};
    if (const auto header = variables("IDENTITY_HEADER")) {
      out.headers.push_back({"X-IDENTITY-HEADER", *header});
    }
    return out;
  }
  std::string host =
      variables("AZURE_POD_IDENTITY_AUTHORITY_HOST").value_or("http://169.254.169.254");
  while (host.ends_with('/')) host.pop_back();
  return net::token_request{
      .url = host + "/metadata/identity/oauth2/token?api-version=2018-02-01" + what,
      .headers = {{"Metadata", "true"}}};
}

MDSTREAM_INLINE net::detail::token_bounds bounds(const store::azure_settings& settings) {
  return {.service = "Azure",
          .endpoint = settings.endpoint,
          .of_url = settings.endpoint_of_url,
          .domains = {"core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn",
                      "storage.azure.net", "fabric.microsoft.com"},
          .setting = "AZURE_STORAGE_CONNECTION_STRING (BlobEndpoint)"};
}

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE net::any_access default_azure_access(runtime& threads,
                                                     const store::azure_settings& settings,
                                                     const store::azure_options& options) {
  if (!settings.account_key.empty()) {
    return net::explicit_access(
        azure_key_access(settings.account, settings.account_key, settings.account_key_source));
  }
  if (!settings.sas.empty()) {
    net::access sas = azure_sas_access(settings.sas, settings.sas_source);
    if (settings.sas_of_url) sas.is_token = false;  // it goes where its own URL says
    return net::explicit_access(std::move(sas));
  }
  const net::environment variables = options.variables;
  const warning_function warn = net::detail::each_once(options.warn);
  const net::fetcher far(threads, options.http), near = net::fetcher::near(threads, options.http);
  using namespace detail::azure;
  return net::access_chain(
      {net::token_access(far, "the service principal (AZURE_CLIENT_SECRET)",
                         [variables] { return azure::secret_question(variables); }),
       net::token_access(far, "the workload identity (AZURE_FEDERATED_TOKEN_FILE)",
                         [variables] { return azure::workload_question(variables); }),
       net::computed_access([variables, warn] {
         return azure::cli_cache(variables, warn).token(net::wall_clock::now());
       }),
       net::token_access(
           far, azure::cli_cache::source,
           [variables] { return azure::cli_cache(variables, {}).question(variables); }),
       net::machine_access(near, "the machine's managed identity",
                           [variables] { return azure::machine_question(variables); })});
}

}  // namespace mdstream::inline v0::detail
