#pragma once

/// What is generated from the program's options, so that it cannot differ from them.

#include <CLI/App.hpp>

#include <string>

namespace cli {

/// A manual page in the form of man(7).
[[nodiscard]] std::string man_page(const CLI::App& program);

/// A completion script for bash.
[[nodiscard]] std::string bash_completion(const CLI::App& program);

}  // namespace cli
