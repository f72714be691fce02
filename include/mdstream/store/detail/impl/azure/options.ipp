#pragma once

#include <mdstream/store/azure/options.hpp>
#include <mdstream/store/detail/azure/variables.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail::azure {

MDSTREAM_INLINE std::string account_of_endpoint(const std::string& endpoint) {
  const auto parts = net::parse_http_url(endpoint);
  if (!parts) return {};
  if (const std::size_t blob = parts->host.find(".blob."); blob != std::string::npos) {
    return parts->host.substr(0, parts->host.find('.'));
  }
  const std::string path = detail::cloud::without_slashes(parts->path);
  return path.substr(0, path.find('/'));
}

MDSTREAM_INLINE std::map<std::string, std::string> parse_connection_string(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const std::size_t end = text.find(';');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = one.find('=');
    if (one.empty()) continue;
    if (equals == std::string_view::npos || equals == 0) {
      throw error(errc::invalid_argument,
                  "AZURE_STORAGE_CONNECTION_STRING is not made of Name=value;");
    }
    out.emplace(one.substr(0, equals), one.substr(equals + 1));
  }
  use_emulator(out);
  if (!out.contains("AccountName") && out.contains("BlobEndpoint")) {
    out["AccountName"] = account_of_endpoint(out["BlobEndpoint"]);
  }
  return out;
}

MDSTREAM_INLINE void use_emulator(std::map<std::string, std::string>& connection) {
  const auto wanted = connection.find("UseDevelopmentStorage");
  if (wanted == connection.end() || !net::detail::equal_ignoring_case(wanted->second, "true"))
    return;
  const auto proxy = connection.find("DevelopmentStorageProxyUri");
  std::string host = proxy == connection.end() ? "http://127.0.0.1" : proxy->second;
  while (host.ends_with('/')) host.pop_back();
  connection["AccountName"] = emulator_account;
  connection["AccountKey"] = emulator_key;
  connection["BlobEndpoint"] = host + ":10000/" + emulator_account;
}

MDSTREAM_INLINE bool is_account_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 63) return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
  }
  return true;
}

MDSTREAM_INLINE bool is_container_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 63) return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '$')) return false;
  }
  return true;
}

MDSTREAM_INLINE void place(const detail::cloud::cloud_url& url, store::azure_settings& out) {
  if (out.scheme == "azure" && url.place.find('.') != std::string::npos) {
    const std::size_t slash = url.prefix.find('/');
    out.container = url.prefix.substr(0, slash);
    if (slash != std::string::npos) out.root = url.prefix.substr(slash + 1);
  } else {
    out.container = url.place;
    out.root = url.prefix;
  }
}

MDSTREAM_INLINE std::optional<std::string> service_of(std::string host) {
  const std::size_t lake = host.find(".dfs.");
  if (lake != std::string::npos) host.replace(lake, 5, ".blob.");
  if (host.find(".blob.") == std::string::npos) return std::nullopt;
  return "https://" + host;
}

}  // namespace mdstream::inline v0::detail::azure

namespace mdstream::inline v0::store {

MDSTREAM_INLINE azure_settings resolve_azure(std::string_view url, const azure_options& options) {
  const detail::cloud::cloud_url parts = detail::cloud::parse_cloud_url(url);
  azure_settings out{.scheme = parts.scheme, .endpoint = options.endpoint};
  if (out.scheme != "azure" && out.scheme != "azure-dl") {
    throw detail::cloud::bad_url(url, "not an azure:// or azure-dl:// URL");
  }
  detail::azure::place(parts, out);
  const bool host_is_account = out.scheme == "azure" && parts.place.find('.') != std::string::npos;
  bool signed_query = false;
  for (const auto& [name, value] : parts.parameters) {
    if (name == "sig") signed_query = true;
  }
  for (const auto& [name, value] : parts.parameters) {
    if (signed_query) break;
    if (name != "endpoint") {
      throw detail::cloud::bad_url(
          url,
          "azure URLs have the parameter endpoint or a signed query (SAS), not \"" + name + '"');
    }
    out.endpoint = value;
    out.endpoint_of_url = true;
  }
  const net::environment& variables = options.variables;
  const auto connection = detail::azure::parse_connection_string(
      variables(detail::azure::variable::connection).value_or(""));
  const auto connected = [&](const char* name) {
    const auto at = connection.find(name);
    return at == connection.end() ? std::string() : at->second;
  };
  const auto service = host_is_account ? detail::azure::service_of(parts.place) : std::nullopt;
  const auto named = variables(detail::azure::variable::account);
  out.account = options.account;
  if (out.account.empty() && named && !service) out.account = *named;
  if (out.account.empty() && host_is_account)
    out.account = parts.place.substr(0, parts.place.find('.'));
  if (out.account.empty()) out.account = connected("AccountName");
  if (!detail::azure::is_account_name(out.account)) {
    throw detail::cloud::bad_url(url,
                                 "which storage account? Set AZURE_ACCOUNT_NAME, or write "
                                 "azure://<account>.blob.core.windows.net/<container>/…");
  }
  if (!detail::azure::is_container_name(out.container)) {
    throw detail::cloud::bad_url(url, "this URL names no container of Azure");
  }
  const bool same_account = connected("AccountName") == out.account;
  if (out.endpoint.empty() && same_account) out.endpoint = connected("BlobEndpoint");
  if (out.endpoint.empty() && service) {
    out.endpoint = *service;
    out.endpoint_of_url = true;
  }
  if (out.endpoint.empty()) {
    const std::string suffix = same_account && !connected("EndpointSuffix").empty()
                                   ? connected("EndpointSuffix")
                                   : "core.windows.net";
    out.endpoint = "https://" + out.account + ".blob." + suffix;
  }
  out.endpoint = detail::cloud::checked_endpoint(std::move(out.endpoint), "Azure");

  // Another account's keys would only tell its secrets to this one.
  const bool variables_are_ours = !named || *named == out.account;
  out.account_key = options.account_key;
  out.account_key_source = "the program";
  if (out.account_key.empty() && variables_are_ours) {
    out.account_key = variables(detail::azure::variable::account_key).value_or("");
    out.account_key_source = "the environment (AZURE_ACCOUNT_ACCESS_KEY)";
  }
  if (out.account_key.empty() && same_account) {
    out.account_key = connected("AccountKey");
    out.account_key_source = "the environment (AZURE_STORAGE_CONNECTION_STRING)";
  }
  out.sas = signed_query ? parts.query : options.sas;
  out.sas_of_url = signed_query;
  out.sas_source = signed_query ? "the URL (SAS)" : "the program (SAS)";
  if (out.sas.empty() && variables_are_ours) {
    out.sas = variables(detail::azure::variable::sas).value_or("");
    out.sas_source = "the environment (AZURE_STORAGE_SAS_TOKEN)";
  }
  if (out.sas.empty() && same_account) {
    out.sas = connected("SharedAccessSignature");
    out.sas_source = "the environment (AZURE_STORAGE_CONNECTION_STRING)";
  }
  if (out.sas.starts_with('?')) out.sas.erase(0, 1);
  out.shown = out.scheme + "://" + parts.place + (host_is_account ? '/' + out.container : "");
  return out;
}

}  // namespace mdstream::inline v0::store
