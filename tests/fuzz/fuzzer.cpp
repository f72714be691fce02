// What libFuzzer calls: the target that MDSTREAM_FUZZ_TARGET names. One program for all, since each
// would link everything. With MDSTREAM_FUZZ_INPUTS it writes the target's inputs into that
// directory, and does no more.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <string>
#include <string_view>

#include "fuzz/targets.hpp"

namespace {

const fuzz::target& chosen() {
  const char* const name = std::getenv("MDSTREAM_FUZZ_TARGET");
  for (const fuzz::target& each : fuzz::targets)
    if (name != nullptr && std::string_view(name) == each.name) return each;
  std::fprintf(stderr, "fuzz: MDSTREAM_FUZZ_TARGET names none of these:");
  for (const fuzz::target& each : fuzz::targets) std::fprintf(stderr, " %s", each.name);
  std::fprintf(stderr, "\n");
  std::_Exit(2);
}

/// Gives each header of an archive the checksum of what it says, as a changed one would be refused
/// by that alone.
void repair_tar(std::uint8_t* data, std::size_t size) {
  constexpr std::size_t block = 512;
  for (std::size_t at = 0; at + block <= size;) {
    std::uint8_t* const head = data + at;
    at += block;
    if (std::all_of(head, head + block, [](std::uint8_t b) { return b == 0; })) continue;
    std::fill_n(head + 148, 8, std::uint8_t{' '});
    std::snprintf(reinterpret_cast<char*>(head + 148), 7, "%06o",
                  std::accumulate(head, head + block, 0U));
    const std::string text(reinterpret_cast<const char*>(head + 124), 12);
    const std::size_t bytes = std::strtoull(text.c_str(), nullptr, 8);
    if (bytes > size) return;
    at += (bytes + block - 1) / block * block;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

/// A blind change, after which three times in four a checksum is made right.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  if (chosen().run == &fuzz::raw_tar && seed % 4 != 0) repair_tar(data, size);
  return size;
}

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const directory = std::getenv("MDSTREAM_FUZZ_INPUTS");
  if (directory == nullptr) return 0;
  int number = 0;
  for (const std::string& input : fuzz::inputs_of(chosen().name)) {
    const std::string path = std::string(directory) + '/' + std::to_string(number++);
    if (std::ofstream(path, std::ios::binary) << input) continue;
    std::fprintf(stderr, "fuzz: cannot write %s\n", path.c_str());
    std::_Exit(2);
  }
  std::_Exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::target& target = chosen();
  target.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
