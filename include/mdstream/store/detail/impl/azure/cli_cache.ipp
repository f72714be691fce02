#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/azure/cli_cache.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <map>
#include <string_view>

namespace mdstream::inline v0::detail::azure {

MDSTREAM_INLINE cli_cache::cli_cache(const net::environment& variables,
                                     const warning_function& warn)
    : tenant_(variables("AZURE_TENANT_ID").value_or("")) {
  const std::string folder =
      net::detail::in_home(variables, variables("AZURE_CONFIG_DIR").value_or("~/.azure"));
  const std::string file = folder + "/msal_token_cache.json";
  const auto text = net::detail::read_secret(file, warn);
  if (!text) return;
  cache_ = net::detail::parse_json_file(*text, file);
  choose(
      subscription(folder + "/azureProfile.json", variables("AZURE_SUBSCRIPTION_ID").value_or("")));
}

MDSTREAM_INLINE std::optional<net::access> cli_cache::token(net::wall_clock::time_point now) const {
  for (const json::value* const each : entries("AccessToken")) {
    const auto expires = net::detail::seconds_of(each->find("expires_on"));
    const bool for_storage = text_of(*each, "target").find(resource) != std::string::npos;
    const bool of_tenant = tenant_.empty() || text_of(*each, "realm") == tenant_;
    if (!expires || !for_storage || !of_tenant || !is_of_login(*each)) continue;
    const net::wall_clock::time_point until = net::detail::time_of_seconds(*expires);
    if (until < now + std::chrono::minutes(5)) continue;
    return net::bearer_access(text_of(*each, "secret"), source, until);
  }
  return std::nullopt;
}

MDSTREAM_INLINE std::optional<net::token_request> cli_cache::question(
    const net::environment& variables) const {
  for (const json::value* const each : entries("RefreshToken")) {
    const std::string login = text_of(*each, "secret"), client = text_of(*each, "client_id");
    if (login.empty() || client.empty() || !is_of_login(*each)) continue;
    return ask_tenant(
        authority(variables), tenant_.empty() ? "organizations" : tenant_,
        {{"grant_type", "refresh_token"}, {"client_id", client}, {"refresh_token", login}});
  }
  return std::nullopt;
}

MDSTREAM_INLINE cli_cache::subscription_place cli_cache::subscription(const std::string& file,
                                                                      const std::string& id) const {
  const auto found = net::detail::read_settings(file);
  if (!found) return {};
  std::string_view text = *found;
  constexpr std::string_view mark = "\xEF\xBB\xBF";  // which the command line begins it with
  if (text.starts_with(mark)) text.remove_prefix(mark.size());
  const json::value profile = net::detail::parse_json_file(text, file);
  const json::value* const all = profile.find("subscriptions");
  if (all == nullptr || all->type() != json::kind::array) return {};
  subscription_place out;
  for (const json::value& each : all->as<json::array>()) {
    if (each.type() != json::kind::object) continue;
    const json::value* const marked = each.find("isDefault");
    const bool is_default =
        marked != nullptr && marked->type() == json::kind::boolean && marked->as<bool>();
    const bool is_meant = !tenant_.empty() ? text_of(each, "tenantId") == tenant_
                          : !id.empty()    ? text_of(each, "id") == id
                                           : is_default;
    const json::value* const user = each.find("user");
    if (!is_meant || user == nullptr || user->type() != json::kind::object) continue;
    out = {text_of(each, "tenantId"), text_of(*user, "name")};
    if (is_default) break;
  }
  return out;
}

MDSTREAM_INLINE void cli_cache::choose(const subscription_place& meant) {
  if (tenant_.empty()) tenant_ = meant.tenant;
  std::map<std::string, std::string> logins;  // names, by what tokens call them
  for (const json::value* const each : entries("Account")) {
    const std::string name = text_of(*each, "username"), id = text_of(*each, "home_account_id");
    if (meant.user.empty() && !tenant_.empty() && text_of(*each, "realm") != tenant_) continue;
    logins[id] = name;
    if (!meant.user.empty() && net::detail::equal_ignoring_case(name, meant.user)) login_ = id;
  }
  if (!login_.empty() || logins.empty()) return;
  if (logins.size() == 1) {
    login_ = logins.begin()->first;
    return;
  }
  std::string names;
  for (const auto& [id, name] : logins) names += (names.empty() ? "" : ", ") + name;
  throw error(errc::permission_denied, std::string(source) + " has several (" + names +
                                           "): az account set, AZURE_SUBSCRIPTION_ID or "
                                           "AZURE_TENANT_ID choose one");
}

MDSTREAM_INLINE bool cli_cache::is_of_login(const json::value& entry) const {
  return !text_of(entry, "secret").empty() &&
         (login_.empty() || text_of(entry, "home_account_id") == login_);
}

MDSTREAM_INLINE std::vector<const json::value*> cli_cache::entries(const char* of) const {
  std::vector<const json::value*> out;
  const json::value* const found = cache_.find(of);
  if (found == nullptr || found->type() != json::kind::object) return out;
  for (const auto& [name, value] : found->as<json::object>()) {
    if (value.type() == json::kind::object) out.push_back(&value);
  }
  return out;
}

MDSTREAM_INLINE std::string cli_cache::text_of(const json::value& in, const char* name) {
  const json::value* const found = in.find(name);
  const bool is_text = found != nullptr && found->type() == json::kind::string;
  return is_text ? found->as<std::string>() : std::string();
}

}  // namespace mdstream::inline v0::detail::azure
