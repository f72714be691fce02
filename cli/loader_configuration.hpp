#pragma once

/// A loader's configuration as a file: the arguments of Python's StreamingDataset as a JSON object.

#include <mdstream/stream/options.hpp>

#include "command.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace cli {

/// What a configuration says beside the loader's own options.
struct loader_configuration {
  mds::loader_options options{};
  std::optional<std::uint64_t> epochs{};  ///< of the whole run; unset: the one at hand
};

/// Reads a configuration; `patience`, if set, comes before what that says. Throws usage_error for
/// options that there are not, and values that they can not have.
[[nodiscard]] loader_configuration read_loader_configuration(
    const std::string& path, const std::optional<std::chrono::milliseconds>& patience);

/// What a file holds.
[[nodiscard]] std::string text_of_file(const std::string& path);

}  // namespace cli
