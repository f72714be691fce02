#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/settings_file.hpp>
#include <mdstream/store/detail/azure/cli.hpp>
#include <mdstream/store/detail/azure/tenants.hpp>
#include <mdstream/store/detail/azure/variables.hpp>
#include <mdstream/version.hpp>

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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
  auto out = net::detail::azure_token_program(variables, resource);
  if (!out || ::access(folder.c_str(), X_OK) != 0) return std::nullopt;
  out->variables.emplace_back(variable::config_directory, folder);
  // It takes one of them.
  if (auto tenant = variables(variable::tenant)) {
    out->words.insert(out->words.end(), {"--tenant", cli_argument(variable::tenant, *tenant)});
  } else if (auto subscription = variables(variable::subscription)) {
    out->words.insert(out->words.end(),
                      {"--subscription", cli_argument(variable::subscription, *subscription)});
  }
  return out;
}

/// With a code of Entra the advice to log in is about a login that has ended.
MDSTREAM_INLINE bool says_no_login(const net::detail::program_result& said) {
  const auto says = [&](const char* words) { return said.errors.find(words) != std::string::npos; };
  return (says("az login") || says("az account set")) && !says("AADSTS");
}

MDSTREAM_INLINE net::detail::program_access cli_access(runtime& threads,
                                                       net::environment variables) {
  return {threads, "the login of Azure's command line (az)",
          [variables = std::move(variables)] { return cli_program(variables); }, says_no_login};
}

}  // namespace mdstream::inline v0::detail::azure
