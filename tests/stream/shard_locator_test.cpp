#include <mdstream/stream/detail/shard_locator.hpp>

#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;

namespace locator_test {

void agrees_with_a_walk(const std::vector<std::uint64_t>& sizes) {
  const mds::detail::shard_locator locate(sizes);
  std::uint64_t sample = 0;
  for (std::uint32_t shard = 0; shard < sizes.size(); ++shard) {
    CHECK(locate.first_sample(shard) == sample);
    for (std::uint32_t i = 0; i < sizes[shard]; ++i, ++sample) {
      const mds::detail::sample_location found = locate(sample);
      if (found != mds::detail::sample_location{shard, i})
        FAIL("sample " << sample << " in shard " << found.shard);
    }
  }
  CHECK(locate.samples() == sample);
}

}  // namespace locator_test

TEST_CASE("every sample is found in its shard, whatever the sizes") {
  locator_test::agrees_with_a_walk({5});
  locator_test::agrees_with_a_walk({100, 100, 100, 37});
  locator_test::agrees_with_a_walk({0, 3, 0, 0, 1, 0});
  locator_test::agrees_with_a_walk({3, 3, 9});
  std::vector<std::uint64_t> uneven(1000, 1);
  uneven.push_back(100000);
  uneven.insert(uneven.end(), 500, 1);
  locator_test::agrees_with_a_walk(uneven);
}

TEST_CASE("random sizes, empty shards among them") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 200);
    const unsigned widest = 1U << random() % 10;
    for (auto& size : sizes) size = random() % 4 == 0 ? 0 : random() % widest;
    locator_test::agrees_with_a_walk(sizes);
  }
}

TEST_CASE("shards of one size, as many and as large as there can be") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 2000; ++round) {
    const std::uint64_t widest = std::uint64_t{1} << (1 + random() % 32);
    const std::uint64_t size = 1 + random() % (widest - 1);
    std::vector<std::uint64_t> sizes(1 + random() % 200, size);
    sizes.back() = 1 + random() % size;
    const mds::detail::shard_locator locate(sizes);
    REQUIRE(locate.shard_of(0) == 0);
    for (std::uint32_t shard = 0; shard < sizes.size(); ++shard) {
      const auto last = static_cast<std::uint32_t>(sizes[shard] - 1);
      const std::uint64_t first = shard * size;
      for (const std::uint32_t index : {0U, last / 2, last})
        if (const auto found = locate(first + index);
            found != mds::detail::sample_location{shard, index} ||
            locate.shard_of(first + index) != shard)
          FAIL("sample " << first + index << " of shards of " << size << " in shard "
                         << found.shard);
    }
  }
}
