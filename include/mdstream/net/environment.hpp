#pragma once

/// Environment variables, those of the process or others.

#include <mdstream/version.hpp>

#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

namespace mdstream::inline v0::net {

/// The value of a variable; nothing where it is unset or empty. Called from any thread.
using environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The variables of this process. Nothing may change them while they are read.
[[nodiscard]] inline environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

/// The first of these that is set.
[[nodiscard]] inline std::optional<std::string> first_set(
    const environment& variables, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (auto value = variables(name)) return value;
  }
  return std::nullopt;
}

}  // namespace mdstream::inline v0::net
