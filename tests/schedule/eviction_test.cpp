#include <mdstream/schedule/detail/eviction.hpp>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"

namespace eviction_test {

namespace mds = mdstream;
using mds::detail::urgency;

std::vector<std::uint32_t> drain(mds::detail::eviction_queue queue) {
  std::vector<std::uint32_t> order;
  while (const auto next = queue.next()) order.push_back(next->shard);
  return order;
}

TEST_CASE("the farthest next use goes first, among equals the lowest number", "[schedule]") {
  const std::vector<mds::detail::eviction_candidate> candidates{
      {7, 5}, {3, mds::detail::never}, {2, 9}, {9, mds::detail::never}, {1, 5}};
  CHECK(drain({candidates, urgency::now, 0}) == std::vector<std::uint32_t>{3, 9, 2, 1, 7});
}

TEST_CASE("what is asked for ahead displaces only what is needed later", "[schedule]") {
  const std::vector<mds::detail::eviction_candidate> candidates{
      {0, 3}, {1, 4}, {2, 5}, {3, mds::detail::never}};
  CHECK(drain({candidates, urgency::ahead, 4}) == std::vector<std::uint32_t>{3, 2});
  CHECK(drain({candidates, urgency::ahead, mds::detail::never}).empty());
  CHECK(drain({candidates, urgency::now, 4}).size() == 4);
}

TEST_CASE("what should go but is needed before is waited for", "[schedule]") {
  const std::vector<mds::detail::eviction_candidate> candidates{
      {0, 9, true}, {1, 8}, {2, mds::detail::never}};
  CHECK(drain({candidates, urgency::ahead, 4}) == std::vector<std::uint32_t>{2});
  CHECK(drain({candidates, urgency::now, 4}) == std::vector<std::uint32_t>{2, 0, 1});
}

TEST_CASE("what another process reads sooner counts", "[schedule]") {
  // Three batches ahead of the other, which is at its batch 0, as this one is at 7.
  std::vector<mds::detail::eviction_candidate> candidates{
      {1, 9}, {2, 50}, {3, mds::detail::never}, {4, 8}};
  const std::vector<mds::detail::use_elsewhere> elsewhere{{0, 0}, {2, 1}, {3, 40}};
  mds::detail::count_elsewhere(candidates, elsewhere, 7, 0);
  CHECK(drain({candidates, urgency::now, 0}) == std::vector<std::uint32_t>{3, 1, 2, 4});

  // Ahead, for batch 10: what the other reads before that is waited for, what it reads later is
  // needed then.
  candidates = {{1, mds::detail::never}, {2, mds::detail::never}, {3, 12}};
  mds::detail::count_elsewhere(candidates, std::vector<mds::detail::use_elsewhere>{{1, 2}, {2, 4}},
                               7, 10);
  CHECK(candidates[0].needed_before);
  CHECK(candidates[0].next_use == mds::detail::never);
  CHECK(candidates[1].next_use == 11);
  CHECK_FALSE(candidates[1].needed_before);
  CHECK(candidates[2].next_use == 12);

  // Far away is not `never`.
  candidates = {{1, mds::detail::never}};
  mds::detail::count_elsewhere(
      candidates, std::vector<mds::detail::use_elsewhere>{{1, mds::detail::never}}, 7, 0);
  CHECK(candidates[0].next_use == mds::detail::never - 1);
}

// Every assignment of next uses out of {0, 1, 2, never} to four shards, every request.
TEST_CASE("the queue is a permutation in order for every small case", "[schedule]") {
  const std::uint64_t uses[] = {0, 1, 2, mds::detail::never};
  for (unsigned code = 0; code < 256; ++code) {
    std::vector<mds::detail::eviction_candidate> candidates;
    for (unsigned i = 0; i < 4; ++i)
      candidates.push_back({.shard = i, .next_use = uses[(code >> (2 * i)) & 3]});
    for (const std::uint64_t wanted : uses) {
      for (const urgency why : {urgency::now, urgency::ahead}) {
        mds::detail::eviction_queue queue(candidates, why, wanted);
        std::vector<bool> seen(4);
        mds::detail::eviction_candidate last{0, mds::detail::never};
        std::size_t count = 0;
        bool right = true;
        while (const auto next = queue.next()) {
          right = right && !seen[next->shard] && next->next_use <= last.next_use &&
                  (count == 0 || next->next_use < last.next_use || next->shard > last.shard) &&
                  (why == urgency::now || next->next_use > wanted);
          seen[next->shard] = true;
          last = *next;
          ++count;
        }
        std::size_t expected = 0;
        for (const auto& each : candidates) {
          expected += why == urgency::now || each.next_use > wanted ? 1 : 0;
        }
        REQUIRE((right && count == expected));
      }
    }
  }
}

}  // namespace eviction_test
