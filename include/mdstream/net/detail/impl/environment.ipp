#pragma once

#include <mdstream/net/environment.hpp>
#include <mdstream/version.hpp>

#include <cstdlib>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  };
}

MDSTREAM_INLINE std::optional<std::string> first_set(const environment& variables,
                                                     std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (auto value = variables(name)) return value;
  }
  return std::nullopt;
}

}  // namespace mdstream::inline v0::net
