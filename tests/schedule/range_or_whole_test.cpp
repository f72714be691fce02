#include <mdstream/schedule/detail/range_or_whole.hpp>

#include <algorithm>
#include <cstdint>

#include "support/catch.hpp"

namespace range_or_whole_test {

namespace mds = mdstream;

TEST_CASE("ranges are read until they cost what the whole shard does", "[schedule]") {
  mds::detail::range_or_whole choice(10);
  for (int i = 0; i < 3; ++i) CHECK(choice.by_range(7, 100, 10, 2));  // 30 each of 110
  CHECK(choice.by_range(8, 100, 10, 2));
  CHECK_FALSE(choice.by_range(7, 100, 10, 2));
  CHECK(choice.by_range(7, 100, 10, 2));  // counts anew: it was evicted meanwhile
  CHECK_FALSE(choice.by_range(1, 20, 20, 1));
}

TEST_CASE("never dearer than twice the best, for every small case", "[schedule]") {
  for (std::uint64_t request = 1; request <= 6; ++request)
    for (std::uint64_t shard = 1; shard <= 40; ++shard)
      for (std::uint64_t sample = 0; sample <= shard; ++sample)
        for (std::uint64_t reads = 1; reads <= 12; ++reads) {
          mds::detail::range_or_whole choice(request);
          const std::uint64_t one = sample + 2 * request, all = shard + request;
          std::uint64_t cost = 0;
          for (std::uint64_t i = 0; i < reads; ++i) {
            if (!choice.by_range(0, shard, sample, 2)) {
              cost += all;
              break;
            }
            cost += one;
          }
          REQUIRE(cost <= 2 * std::min(all, reads * one));
        }
}

}  // namespace range_or_whole_test
