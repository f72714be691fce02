// scenes SCENE DIRECTORY: plays a scene, for tests/faults/flushes.py and power_loss.py.
// scenes check SCENE: reads lines "PROMISES DIRECTORY" and answers each with a line: "whole", or
// what is wrong in a directory that a loss of power left after so many promises.
// scenes all: plays each scene and judges what it left, for tests/faults/interrupt.cpp.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "faults/scenes.hpp"
#include "support/seed.hpp"

namespace {

using scene = std::function<void(const std::string&)>;
using check = std::function<void(const std::string&, std::uint64_t promises)>;

void answer(const check& judge) {
  std::uint64_t promises = 0;
  std::string directory;
  while (std::cin >> promises >> directory) {
    std::string line = "whole";
    try {
      judge(directory, promises);
    } catch (const std::exception& e) {
      line = e.what();
      std::replace(line.begin(), line.end(), '\n', ' ');
    }
    std::cout << line << std::endl;
  }
}

/// Plays each scene and judges what it left: throws unless it is whole. The seed is that of the
/// library that interrupts.
void play_all(const std::map<std::string_view, scene>& scenes,
              const std::map<std::string_view, check>& checks) {
  std::printf("MDSTREAM_TEST_SEED=%u\n", support::test_seed());
  std::fflush(stdout);
  for (const auto& [name, play] : scenes) {
    const scratch_directory::scratch scratch;
    faults::promised = 0;
    play(scratch / "data");
    if (checks.contains(name)) checks.at(name)(scratch / "data", faults::promised);
  }
}

}  // namespace

int main(int count, char** arguments) try {
  using namespace faults;
  const std::map<std::string_view, scene> scenes{
      {"write", write_dataset}, {"merge", merge_datasets},     {"save", save_checkpoints},
      {"rows", index_rows},     {"cache", read_through_cache}, {"plan", keep_plan},
      {"broken", break_order},  {"rewrite", rewrite_dataset},
  };
  // Plans and row indexes are made again where they were lost.
  const auto again = [](const scene& played) {
    return [played](const std::string& directory, std::uint64_t) { played(directory); };
  };
  const std::map<std::string_view, check> checks{
      {"write", check_write},      {"merge", check_merge},     {"save", check_save},
      {"rows", again(index_rows)}, {"plan", again(keep_plan)}, {"broken", check_write},
  };
  if (count == 2 && arguments[1] == std::string_view("all")) return play_all(scenes, checks), 0;
  if (count != 3) throw std::runtime_error("usage: scenes SCENE DIRECTORY | check SCENE | all");
  if (arguments[1] == std::string_view("check"))
    answer(checks.at(arguments[2]));
  else
    scenes.at(arguments[1])(arguments[2]);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
