#pragma once

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/azure_signature.hpp>
#include <mdstream/net/percent.hpp>
#include <mdstream/net/rsa.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/sha256.hpp>
#include <mdstream/net/x509.hpp>
#include <mdstream/store/detail/azure/cli.hpp>
#include <mdstream/store/detail/azure/keys.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/store/detail/azure/variables.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>
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
  const auto tenant = variables(variable::tenant), client = variables(variable::client),
             secret = variables(variable::client_secret);
  if (!tenant || !client || !secret) return std::nullopt;
  return ask_tenant(
      authority(variables), *tenant,
      {{"grant_type", "client_credentials"}, {"client_id", *client}, {"client_secret", *secret}});
}

/// How long an assertion may be used, as Microsoft advises.
inline constexpr std::chrono::minutes assertion_lifetime{10};

/// The certificates of a file and the key of the first of them.
struct client_certificate {
  std::vector<net::certificate> chain{};
  net::rsa_key key{};
};

MDSTREAM_INLINE client_certificate read_client_certificate(const std::string& file,
                                                           const std::string& pass_phrase,
                                                           const warning_function& warn) {
  const auto refused = [&](const std::string& why) {
    return error(errc::invalid_argument,
                 {.what = std::string(variable::certificate) + ": " + why, .url = file});
  };
  const auto text = net::detail::read_secret(file, warn);
  if (!text) throw refused("there is no such file, or it may not be read");
  // DER, as PKCS#12 and certificates without PEM have it, begins with a sequence.
  if (text->starts_with('\x30')) {
    throw refused("this is PKCS#12 or DER, and PEM is needed: openssl pkcs12 -in " + file +
                  " -out client.pem -noenc makes it");
  }
  client_certificate out{.chain = net::certificate::all_from_pem(*text, file),
                         .key = net::rsa_key::from_pem(*text, file, pass_phrase)};
  if (out.chain.front().public_der() != out.key.public_der()) {
    throw refused("its first certificate is not that of its key");
  }
  return out;
}

/// Random, in the form of a UUID.
MDSTREAM_INLINE std::string assertion_id() {
  std::string out = mdstream::detail::hex_digits(mdstream::detail::random_bits()) +
                    mdstream::detail::hex_digits(mdstream::detail::random_bits());
  for (const std::size_t at : {20U, 16U, 12U, 8U}) out.insert(at, 1, '-');
  return out;
}

MDSTREAM_INLINE std::optional<net::token_request> certificate_question(
    const net::environment& variables, const warning_function& warn,
    net::wall_clock::time_point now) {
  const auto tenant = variables(variable::tenant), client = variables(variable::client),
             file = variables(variable::certificate);
  if (!tenant || !client || !file) return std::nullopt;
  const client_certificate with =
      read_client_certificate(*file, variables(variable::certificate_password).value_or(""), warn);
  const std::vector<std::byte> leaf = with.chain.front().der();
  json::object head{{"x5t#S256", to_base64_url(net::sha256(leaf))}};
  const std::string chain = variables(variable::certificate_chain).value_or("");
  if (chain == "1" || net::detail::equal_ignoring_case(chain, "true")) {
    json::array all;
    for (const net::certificate& each : with.chain) all.push_back(to_base64(each.der()));
    head.emplace_back("x5c", std::move(all));
  }
  const auto seconds = [](net::wall_clock::time_point at) {
    return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
  };
  const std::string service = authority(variables);
  const json::value claims = json::object{{"aud", tenant_url(service, *tenant)},
                                          {"iss", *client},
                                          {"sub", *client},
                                          {"jti", assertion_id()},
                                          {"nbf", seconds(now)},
                                          {"iat", seconds(now)},
                                          {"exp", seconds(now + assertion_lifetime)}};
  return ask_tenant(service, *tenant,
                    {{"grant_type", "client_credentials"},
                     {"client_id", *client},
                     {"client_assertion_type", assertion_type},
                     {"client_assertion", net::signed_web_token(std::move(head), claims, with.key,
                                                                net::rsa_form::pss)}});
}

MDSTREAM_INLINE std::optional<net::token_request> workload_question(
    const net::environment& variables) {
  const auto tenant = variables(variable::tenant), client = variables(variable::client),
             file = variables(variable::federated_token);
  if (!tenant || !client || !file) return std::nullopt;
  const auto token = net::detail::read_settings(*file);
  if (!token) throw net::detail::no_token("the workload identity", "there is no file " + *file);
  return ask_tenant(authority(variables), *tenant,
                    {{"grant_type", "client_credentials"},
                     {"client_id", *client},
                     {"client_assertion_type", assertion_type},
                     {"client_assertion", net::detail::token_of_file(*token, *file)}});
}

MDSTREAM_INLINE std::optional<net::token_request> machine_question(
    const net::environment& variables) {
  const std::string who = variables(variable::client)
                              ? "&client_id=" + net::percent_encode(*variables(variable::client))
                              : "";
  const std::string what = "&resource=" + net::percent_encode(resource) + who;
  if (const auto service = variables(variable::identity_endpoint)) {
    net::token_request out{.url = *service + "?api-version=2019-08-01" + what, .required = true};
    if (const auto header = variables(variable::identity_header)) {
      out.headers.push_back({"X-IDENTITY-HEADER", *header});
    }
    return out;
  }
  std::string host = variables(variable::pod_identity).value_or("http://169.254.169.254");
  while (host.ends_with('/')) host.pop_back();
  return net::token_request{
      .url = host + "/metadata/identity/oauth2/token?api-version=2018-02-01" + what,
      .headers = {{"Metadata", "true"}}};
}

/// An assertion is dated: it is made anew for each request, by the service's clock where ours is
/// wrong.
class certificate_access {
 public:
  certificate_access(net::fetcher from, net::environment variables, warning_function warn)
      : from_(std::move(from)), variables_(std::move(variables)), warn_(std::move(warn)) {}

  void async_find(std::stop_token stop, diagnostics& where, net::access_handler done) const {
    try {
      if (!certificate_question(variables_, warn_, net::wall_clock::now())) {
        return done({}, std::nullopt);
      }
    } catch (const error& e) {
      where = e.where();
      return done(e.code(), std::nullopt);
    }
    net::ask_token(
        from_,
        [variables = variables_, warn = warn_](net::wall_clock::time_point now) {
          return certificate_question(variables, warn, now).value();
        },
        "the service principal (AZURE_CLIENT_CERTIFICATE_PATH)", std::move(stop), where,
        std::move(done));
  }

 private:
  net::fetcher from_;
  net::environment variables_;
  warning_function warn_;
};

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
  return net::access_chain(
      {net::token_access(far, "the service principal (AZURE_CLIENT_SECRET)",
                         [variables] { return azure::secret_question(variables); }),
       azure::certificate_access(far, variables, warn),
       net::token_access(far, "the workload identity (AZURE_FEDERATED_TOKEN_FILE)",
                         [variables] { return azure::workload_question(variables); }),
       azure::cli_access(threads, variables),
       net::machine_access(near, "the machine's managed identity",
                           [variables] { return azure::machine_question(variables); })});
}

}  // namespace mdstream::inline v0::detail
