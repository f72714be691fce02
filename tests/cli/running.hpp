#pragma once

// Runs the command line and reads what it prints.

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/golden_file.hpp"

#include <sys/wait.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace cli_test {

namespace fs = std::filesystem;
using json = nlohmann::json;

inline const std::string golden = support::golden_file("");

using folder = scratch_directory::scratch;

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct answer {
  int status;
  std::string out, err;

  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
  [[nodiscard]] std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> found;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) found.push_back(nlohmann::json::parse(line));
    return found;
  }
};

// `before`: what stands before the program, variables say.
inline answer run(const std::string& arguments, const std::string& before = "") {
  const folder files;
  const int status = std::system(
      (before + MDSTREAM_CLI " " + arguments + " >" + (files / "out") + " 2>" + (files / "err"))
          .c_str());
  return {WEXITSTATUS(status), text_of(files / "out"), text_of(files / "err")};
}

// One line that begins as documented and holds all pieces.
inline void check_error(const answer& got, int status, const std::vector<std::string>& pieces) {
  INFO(got.err);
  CHECK(got.status == status);
  CHECK(got.err.rfind("mdstream: error: ", 0) == 0);
  CHECK(std::count(got.err.begin(), got.err.end(), '\n') == 1);
  for (const auto& piece : pieces) {
    INFO("names: " << piece);
    CHECK(got.err.find(piece) != std::string::npos);
  }
}

// A dataset of so many rows, in several shards.
void write_rows(const std::string& where, std::uint32_t first, std::uint32_t count);

}  // namespace cli_test
