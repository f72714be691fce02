#pragma once

#include <mdstream/core/json/value.hpp>
#include <mdstream/net/oauth.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/store/detail/azure/cli.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/store/detail/azure/variables.hpp>
#include <mdstream/version.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail::azure {

/// The value of a variable as an argument, which must not look like an option.
MDSTREAM_INLINE std::string cli_argument(const char* variable, std::string value) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(" -_.").find(c) != std::string_view::npos;
  };
  if (value.starts_with('-') || !std::ranges::all_of(value, plain)) {
    throw error(errc::invalid_argument,
                std::string(variable) + " names no tenant or subscription of Azure");
  }
  return value;
}

MDSTREAM_INLINE std::optional<net::detail::program> cli_program(const net::environment& variables) {
  const std::string folder =
      net::detail::in_home(variables, variables(variable::config_directory).value_or("~/.azure"));
  const auto path = net::detail::find_program("az", variables("PATH").value_or(""));
  if (!path || ::access(folder.c_str(), X_OK) != 0) return std::nullopt;
  net::detail::program out{
      .words = {*path, "account", "get-access-token", "--resource", resource, "-o", "json"},
      .variables = {{"AZURE_CORE_NO_COLOR", "true"}, {variable::config_directory, folder}},
      .most_time = std::chrono::seconds(30)};
  // It takes one of them.
  if (auto tenant = variables(variable::tenant)) {
    out.words.insert(out.words.end(), {"--tenant", cli_argument(variable::tenant, *tenant)});
  } else if (auto subscription = variables(variable::subscription)) {
    out.words.insert(out.words.end(),
                     {"--subscription", cli_argument(variable::subscription, *subscription)});
  }
  return out;
}

MDSTREAM_INLINE net::access cli_token(std::string_view text, net::wall_clock::time_point now) {
  std::string token;
  std::optional<net::wall_clock::time_point> expires;
  try {
    const json::value said = json::parse(text);
    token = said.get<std::string>("accessToken");
    // Before version 2.54 it tells no more than a local time, `expiresOn`: the token knows better.
    if (const auto at = net::detail::seconds_of(said.find("expires_on"))) {
      expires = net::detail::time_of_seconds(*at);
    }
  } catch (const error&) {
    throw net::detail::no_token(cli_source, "what it prints is not JSON with \"accessToken\"");
  }
  if (!expires) expires = net::web_token_expiry(token);
  return net::bearer_access(std::move(token), cli_source,
                            expires.value_or(now + net::unsaid_lifetime));
}

/// Nothing where it says that nobody has logged in.
MDSTREAM_INLINE std::optional<net::access> ask_cli(const net::environment& variables,
                                                   const std::stop_token& stop) {
  const auto what = cli_program(variables);
  if (!what) return std::nullopt;
  const net::detail::program_result said = net::detail::run_program(*what, cli_source, stop);
  if (said.status == 0) return cli_token(said.output, net::wall_clock::now());
  const auto says = [&](const char* words) { return said.errors.find(words) != std::string::npos; };
  // With a code of Entra the advice to log in is about a login that has ended.
  if ((says("az login") || says("az account set")) && !says("AADSTS")) return std::nullopt;
  throw net::detail::no_token(cli_source, "it ended with status " + std::to_string(said.status) +
                                              "; az account get-access-token --resource " +
                                              std::string(resource) + " tells why");
}

MDSTREAM_INLINE cli_access::cli_access(runtime& threads, net::environment variables)
    : threads_(&threads), variables_(std::move(variables)) {}

MDSTREAM_INLINE void cli_access::async_find(std::stop_token stop, diagnostics& where,
                                            net::access_handler done) const {
  threads_->post(
      [variables = variables_, stop = std::move(stop), &where, done = std::move(done)]() mutable {
        std::error_code code;
        std::optional<net::access> found;
        try {
          found = ask_cli(variables, stop);
        } catch (const error& e) {
          where = e.where();
          code = e.code();
        }
        done(code, std::move(found));
      });
}

}  // namespace mdstream::inline v0::detail::azure
