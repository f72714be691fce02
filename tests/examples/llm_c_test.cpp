// What examples/llm.c hands to llm.c's trainer, against the rules of llm.c's own loader.

#include "../../examples/llm.c/mdstream_dataloader.h"

#include <cstdint>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"

namespace llm_c_test {

using scratch_directory::scratch;

constexpr std::size_t rows = 2, row = 8, batch = rows * row;
constexpr std::int32_t tokens_in_file = 171;  // 10 batches, and the rest of one

std::uint16_t token(std::size_t position) {
  return static_cast<std::uint16_t>(position * 301 % 50257);
}

void write_tokens(const std::string& path) {
  std::vector<std::int32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = tokens_in_file;
  std::vector<std::uint16_t> tokens;
  for (std::size_t i = 0; i < tokens_in_file; ++i) tokens.push_back(token(i));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()), 1024);
  file.write(reinterpret_cast<const char*>(tokens.data()), 2 * tokens_in_file);
}

void check_batch(const DataLoader& loader, std::size_t number) {
  INFO("batch " << number);
  for (std::size_t i = 0; i < batch; ++i) {
    REQUIRE(loader.inputs[i] == token(number * batch + i));
    REQUIRE(loader.targets[i] == token(number * batch + i + 1));
  }
}

TEST_CASE("the loader for llm.c shuffles as llm.c does, epoch after epoch", "[examples]") {
  // What llm.c's rand.h says of its generator.
  std::mt19937 of_137(137);
  CHECK(of_137() == 4053805790);
  CHECK(of_137() == 2173880614);

  const scratch root;
  write_tokens(root / "train.bin");
  DataLoader loader;
  dataloader_init(&loader, (root / "train.bin").c_str(), rows, row, 0, 1, 1);
  CHECK(loader.num_tokens / batch == 10);
  std::mt19937 random(42);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::size_t> order(10);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 9; i > 0; --i) std::swap(order[i], order[random() % (i + 1)]);
    for (const std::size_t number : order) {
      dataloader_next_batch(&loader);
      check_batch(loader, number);
    }
  }
  dataloader_free(&loader);
}

TEST_CASE("the loader for llm.c reads in order, and again after a reset", "[examples]") {
  const scratch root;
  write_tokens(root / "val.bin");
  DataLoader loader;
  dataloader_init(&loader, (root / "val.bin").c_str(), rows, row, 0, 1, 0);
  for (int round = 0; round < 3; ++round) {
    dataloader_reset(&loader);
    for (std::size_t number = 0; number < 5; ++number) {
      dataloader_next_batch(&loader);
      check_batch(loader, number);
    }
  }
  dataloader_free(&loader);
}

}  // namespace llm_c_test
