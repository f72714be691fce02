// Runs a fuzz target without a fuzzer: every file of the command line, cut short at many places,
// and with bytes changed. The mutations are the same in every run.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using input = std::vector<std::uint8_t>;

// An exact copy on the heap, so that a sanitizer sees the first byte beyond the end.
void run(const input& bytes, std::size_t size) {
  const input copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

void mutate(input& bytes, std::mt19937& random) {
  static constexpr std::uint8_t favourites[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '"', '{', '}',
                                                '[',  ']',  ',',  ':',  '-',  '9', 'e', '\\'};
  const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
  switch (random() % 4) {
    case 0:
      bytes[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << random() % 8);
      break;
    case 1:
      bytes[static_cast<std::size_t>(at)] = favourites[random() % std::size(favourites)];
      break;
    case 2: bytes.erase(bytes.begin() + at); break;
    default: bytes.insert(bytes.begin() + at, favourites[random() % std::size(favourites)]); break;
  }
}

}  // namespace

int main(int count, char** paths) {
  constexpr std::uint32_t seed = 20261121;
  constexpr int mutations = 400, cuts = 200;
  std::mt19937 random(seed);
  std::size_t inputs = 0;
  for (int i = 1; i < count; ++i) {
    std::ifstream file(paths[i], std::ios::binary);
    const input original((std::istreambuf_iterator<char>(file)), {});
    if (!file || original.empty()) {
      std::fprintf(stderr, "cannot read %s\n", paths[i]);
      return 1;
    }
    run(original, original.size());
    for (int cut = 0; cut < cuts; ++cut, ++inputs) run(original, random() % original.size());
    for (int round = 0; round < mutations; ++round, ++inputs) {
      input changed = original;
      for (auto changes = 1 + random() % 4; changes > 0 && !changed.empty(); --changes) {
        mutate(changed, random);
      }
      run(changed, changed.size());
    }
  }
  std::printf("seed %u: %d files, %zu inputs made of them\n", seed, count - 1, inputs);
  return inputs > 0 ? 0 : 1;
}
