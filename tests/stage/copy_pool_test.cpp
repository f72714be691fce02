#include <mdstream/stage/detail/copy_pool.hpp>

#include <mdstream/collate/execute.hpp>

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace mds = mdstream;
namespace collate = mdstream::collate;

TEST_CASE("each part is done once, and all are done when the pool returns", "[stage]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  for (const std::size_t threads : {1U, 2U, 5U}) {
    mds::stage::detail::copy_pool pool(threads);
    CHECK(pool.size() == threads);
    std::mt19937 random(seed);
    for (int round = 0; round < 3000; ++round) {
      // Plain memory: a part that is done twice, late, or seen by nobody is a race as well.
      std::vector<int> done(random() % 40);
      pool.for_each_part(static_cast<std::uint32_t>(done.size()),
                         [&done](std::uint32_t part) { ++done[part]; });
      REQUIRE(done == std::vector<int>(done.size(), 1));
      // Now and then long enough for the threads to fall asleep. They may or may not.
      if (round % 500 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

TEST_CASE("a pool that never worked, or sleeps, can go", "[stage]") {
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> parts{0};
    {
      mds::stage::detail::copy_pool pool(3);
      if (i % 2 == 0) pool.for_each_part(7, [&](std::uint32_t) { ++parts; });
      // Likely asleep then; what is checked holds either way.
      if (i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(parts == (i % 2 == 0 ? 7 : 0));
  }
}

TEST_CASE("threads are as many as asked for, or a share of the processors", "[stage]") {
  CHECK(mds::stage::detail::copy_threads(13, 1) == 13);
  const std::size_t all = mds::detail::usable_cores();
  CHECK(mds::stage::detail::copy_threads(0, 1) == std::clamp<std::size_t>(all / 2, 1, 8));
  CHECK(mds::stage::detail::copy_threads(0, 4096) == 1);
  CHECK(mds::stage::detail::copy_threads(0, 0) >= 1);
}

TEST_CASE("stretches cover everything once, whatever their number", "[collate]") {
  mds::stage::detail::copy_pool pool(3);
  for (const std::uint64_t count : {0U, 1U, 2U, 11U, 12U, 13U, 1000U})
    for (const std::uint64_t bytes : {0U, 1U << 16, 1U << 20, 1U << 30}) {
      std::vector<int> covered(count);
      collate::detail::for_each_stretch(pool, count, bytes,
                                        [&](std::uint64_t first, std::uint64_t last) {
                                          for (; first < last; ++first) ++covered[first];
                                        });
      CHECK(covered == std::vector<int>(count, 1));
    }
}

TEST_CASE("copies past the caches are copies, at any address", "[stage]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::vector<std::byte> from(9000), to(9000);
  for (auto& byte : from) byte = static_cast<std::byte>(random());
  for (int round = 0; round < 400; ++round) {
    const std::size_t size = random() % 4000, at = random() % 100, source = random() % 100;
    std::fill(to.begin(), to.end(), std::byte{0xAA});
    mds::stage::detail::copy_past_caches(to.data() + at, from.data() + source, size);
    std::vector<std::byte> expected(to.size(), std::byte{0xAA});
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(source), size,
                expected.begin() + static_cast<std::ptrdiff_t>(at));
    REQUIRE(to == expected);
  }
}
