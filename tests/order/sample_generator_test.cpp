#include <mdstream/order/sample_generator.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <set>

#include "support/catch.hpp"

namespace mds = mdstream;

static_assert(std::uniform_random_bit_generator<mds::sample_generator>);

TEST_CASE("the block function is Philox4x32-10 of Random123's known answers") {
  const auto block = [](mds::philox_block counter, std::uint64_t key) {
    const mds::philox_block out = mds::philox(counter, key);
    return std::array{out.word[0], out.word[1], out.word[2], out.word[3]};
  };
  CHECK(block({{0, 0, 0, 0}}, 0) == std::array{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
  CHECK(block({{~0U, ~0U, ~0U, ~0U}}, ~std::uint64_t{0}) ==
        std::array{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
  CHECK(block({{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}}, 0x299f31d0a4093822U) ==
        std::array{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U});
}

TEST_CASE("a sample's numbers depend on seed, epoch and place, and are pinned") {
  std::set<std::uint64_t> first;
  for (const std::uint64_t seed : {0U, 1U, 9176U})
    for (const std::uint64_t epoch : {0U, 1U})
      for (std::uint64_t position = 0; position < 100; ++position)
        first.insert(mds::sample_generator(seed, epoch, position)());
  CHECK(first.size() == 600);
  mds::sample_generator a(9176, 3, 1ULL << 40), b(9176, 3, 1ULL << 40);
  for (int i = 0; i < 9; ++i) CHECK(a() == b());
  mds::sample_generator pinned(9176, 0, 0);
  CHECK(pinned() == 0xb096342468189566U);
  CHECK(pinned() == 0xd04d1e50786211aeU);
  CHECK(pinned() == 0x9e6da830efe98cdaU);
}

TEST_CASE("a bound of a power of two takes each draw") {
  mds::sample_generator bounded(9176, 3, 7), raw(9176, 3, 7);
  for (int i = 0; i < 100; ++i) CHECK(bounded.below(std::uint64_t{1} << 63) == raw() >> 1);
}

TEST_CASE("integers below a bound are even, doubles lie in [0, 1)") {
  mds::sample_generator random(1, 2, 3);
  std::array<int, 6> count{};
  double sum = 0;
  for (int i = 0; i < 60000; ++i) {
    ++count[random.below(6)];
    const double x = random.uniform();
    CHECK((x >= 0 && x < 1));
    sum += x;
  }
  for (const int c : count) CHECK((c > 9500 && c < 10500));
  CHECK((sum > 29500 && sum < 30500));
  CHECK(random.below(1) == 0);
}
