#pragma once

/// Who lets requests into Azure Storage. Needs libcurl and OpenSSL: link mdstream::azure.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/azure_signature.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/store/azure/options.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::store {

/// Signatures by the account's key. Throws `errc::invalid_argument` where the key is not base64.
[[nodiscard]] inline net::access azure_key_access(std::string account, const std::string& key,
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

/// A signed query, which every request gets.
[[nodiscard]] inline net::access azure_sas_access(std::string sas, std::string source) {
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
          .source = std::move(source)};
}

namespace azure_detail {

inline constexpr const char* resource = "https://storage.azure.com";

[[nodiscard]] inline std::string authority(const net::environment& variables) {
  std::string host = cloud_detail::with_scheme(
      variables("AZURE_AUTHORITY_HOST").value_or("https://login.microsoftonline.com"));
  while (host.ends_with('/')) host.pop_back();
  return host;
}

[[nodiscard]] inline net::token_request ask_tenant(
    const std::string& authority, const std::string& tenant,
    std::vector<std::pair<std::string, std::string>> form) {
  form.emplace_back("scope", std::string(resource) + "/.default");
  return {.url = authority + '/' + net::percent_encode(tenant) + "/oauth2/v2.0/token",
          .form = net::form_of(form)};
}

/// A service principal's secret: AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET.
[[nodiscard]] inline std::optional<net::token_request> secret_question(
    const net::environment& variables) {
  const auto tenant = variables("AZURE_TENANT_ID"), client = variables("AZURE_CLIENT_ID"),
             secret = variables("AZURE_CLIENT_SECRET");
  if (!tenant || !client || !secret) return std::nullopt;
  return ask_tenant(
      authority(variables), *tenant,
      {{"grant_type", "client_credentials"}, {"client_id", *client}, {"client_secret", *secret}});
}

/// A pod's or runner's own token exchanged: AZURE_FEDERATED_TOKEN_FILE, read each time.
[[nodiscard]] inline std::optional<net::token_request> workload_question(
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

/// A virtual machine's identity, or that of App Service and Functions (IDENTITY_ENDPOINT), whose
/// failures are told. Azure Arc's, which answers with a challenge, is not supported: its refusal is
/// such a failure.
[[nodiscard]] inline std::optional<net::token_request> machine_question(
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

/// What `az login` left in its cache. It is read and never written.
class cli_cache {
 public:
  cli_cache(const net::environment& variables, const warning_function& warn)
      : file_(net::detail::in_home(variables, variables("AZURE_CONFIG_DIR").value_or("~/.azure")) +
              "/msal_token_cache.json"),
        tenant_(variables("AZURE_TENANT_ID").value_or("")) {
    const auto text = net::detail::read_secret(file_, warn);
    if (text) cache_ = net::detail::parse_json_file(*text, file_);
  }

  /// A token for storage that is good for five minutes more.
  [[nodiscard]] std::optional<net::access> token(net::wall_clock::time_point now) const {
    for (const json::value* const each : entries("AccessToken")) {
      const auto expires = net::detail::seconds_of(each->find("expires_on"));
      const bool for_storage = text_of(*each, "target").find(resource) != std::string::npos;
      const bool of_tenant = tenant_.empty() || text_of(*each, "realm") == tenant_;
      if (!expires || !for_storage || !of_tenant || text_of(*each, "secret").empty()) continue;
      const net::wall_clock::time_point until = net::detail::time_of_seconds(*expires);
      if (until < now + std::chrono::minutes(5)) continue;
      return net::bearer_access(text_of(*each, "secret"), source, until);
    }
    return std::nullopt;
  }

  /// The question for one by the login itself.
  [[nodiscard]] std::optional<net::token_request> question(
      const net::environment& variables) const {
    for (const json::value* const each : entries("RefreshToken")) {
      const std::string login = text_of(*each, "secret"), client = text_of(*each, "client_id");
      if (login.empty() || client.empty()) continue;
      return ask_tenant(
          authority(variables), tenant_.empty() ? "organizations" : tenant_,
          {{"grant_type", "refresh_token"}, {"client_id", client}, {"refresh_token", login}});
    }
    return std::nullopt;
  }

  static constexpr const char* source = "the login of Azure's command line";

 private:
  [[nodiscard]] std::vector<const json::value*> entries(const char* of) const {
    std::vector<const json::value*> out;
    const json::value* const found = cache_.find(of);
    if (found == nullptr || found->type() != json::kind::object) return out;
    for (const auto& [name, value] : found->as<json::object>()) {
      if (value.type() == json::kind::object) out.push_back(&value);
    }
    return out;
  }
  [[nodiscard]] static std::string text_of(const json::value& in, const char* name) {
    const json::value* const found = in.find(name);
    const bool is_text = found != nullptr && found->type() == json::kind::string;
    return is_text ? found->as<std::string>() : std::string();
  }

  std::string file_, tenant_;
  json::value cache_{};
};

}  // namespace azure_detail

/// The account's key, a signed query, a service principal's secret, a workload's identity, the
/// login of Azure's command line, the machine's identity: the first that is set up. Nobody after
/// them.
[[nodiscard]] inline net::any_access default_azure_access(runtime& threads,
                                                          const azure_settings& settings,
                                                          const azure_options& options) {
  if (!settings.account_key.empty()) {
    return net::explicit_access(
        azure_key_access(settings.account, settings.account_key, settings.account_key_source));
  }
  if (!settings.sas.empty()) {
    return net::explicit_access(azure_sas_access(settings.sas, settings.sas_source));
  }
  const net::environment variables = options.variables;
  const warning_function warn = net::detail::each_once(options.warn);
  const net::fetcher far(threads, options.http), near = net::fetcher::near(threads, options.http);
  using namespace azure_detail;
  return net::access_chain(
      {net::token_access(far, "the service principal (AZURE_CLIENT_SECRET)",
                         [variables] { return secret_question(variables); }),
       net::token_access(far, "the workload identity (AZURE_FEDERATED_TOKEN_FILE)",
                         [variables] { return workload_question(variables); }),
       net::computed_access(
           [variables, warn] { return cli_cache(variables, warn).token(net::wall_clock::now()); }),
       net::token_access(far, cli_cache::source,
                         [variables] { return cli_cache(variables, {}).question(variables); }),
       net::machine_access(near, "the machine's managed identity",
                           [variables] { return machine_question(variables); })});
}

}  // namespace mdstream::inline v0::store
