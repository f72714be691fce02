#pragma once

/// `quickstart prepare`: texts of this machine become the datasets, and the yardstick is measured.

#include "places.hpp"

#include <filesystem>
#include <vector>

namespace quickstart {

struct prepare_options {
  std::vector<std::filesystem::path> prose = {"/usr/share"};
  std::vector<std::filesystem::path> code = {"/usr/include"};
};

/// Replaces the datasets and runs of the work folder. Throws std::runtime_error where a corpus is
/// too small, and has changed nothing then.
void prepare(const places& where, const prepare_options& options);

}  // namespace quickstart
