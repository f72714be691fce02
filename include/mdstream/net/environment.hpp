#pragma once

/// Environment variables, those of the process or others.

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>

namespace mdstream::inline v0::net {

/// The value of a variable; nothing where it is unset or empty. Called from any thread.
using environment = std::function<std::optional<std::string>(const std::string& name)>;

/// The variables of this process. Nothing may change them while they are read.
[[nodiscard]] environment process_environment();

/// The first of these that is set.
[[nodiscard]] std::optional<std::string> first_set(const environment& variables,
                                                   std::initializer_list<const char*> names);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/environment.ipp>
#endif
