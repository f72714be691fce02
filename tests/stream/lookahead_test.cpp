#include <mdstream/stream/lookahead.hpp>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "support/catch.hpp"

namespace mds = mdstream;

namespace lookahead_test {

struct fixed_ids {
  std::vector<std::int64_t> values;
  [[nodiscard]] std::uint64_t size() const { return values.size(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  }
};

std::set<std::uint32_t> shards_of(const mds::shard_locator& locate,
                                  std::span<const std::int64_t> ids) {
  std::set<std::uint32_t> shards;
  for (const std::int64_t id : ids)
    if (id >= 0) shards.insert(locate(static_cast<std::uint64_t>(id)).shard);
  return shards;
}

}  // namespace lookahead_test

TEST_CASE("batches, their shards and every next use agree with a search through the order") {
  using namespace lookahead_test;
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 12);
    for (auto& size : sizes) size = 1 + random() % 20;
    const mds::shard_locator locate(sizes);
    const mds::world here{.nodes = 1 + random() % 2, .ranks_per_node = 1 + random() % 3};
    mds::world rank = here;
    rank.rank = random() % here.num_ranks();
    const std::uint64_t batch_size = 1 + random() % 5;
    const std::uint64_t global = here.num_ranks() * batch_size;
    const std::uint64_t batches = 1 + random() % 20;
    std::vector<std::int64_t> ids(batches * global);
    for (auto& id : ids)
      id = random() % 10 == 0 ? -1 : static_cast<std::int64_t>(random() % locate.samples());

    mds::lookahead ahead(locate, sizes.size(), mds::epoch_order(fixed_ids{ids}, global), rank,
                         batch_size);
    const std::uint64_t node_first = rank.node() * rank.ranks_per_node * batch_size;
    const auto node_ids = [&](std::uint64_t batch) {
      return std::span(ids).subspan(batch * global + node_first, rank.ranks_per_node * batch_size);
    };
    std::uint64_t front = 0, end = 0;
    while (front < batches) {
      if (ahead.empty() || random() % 2 == 0) {
        CHECK(ahead.extend() == (end < batches));
        end = std::min(end + 1, batches);
      } else {
        const auto& batch = ahead.front();
        CHECK(batch.number == front);
        const auto own =
            std::span(ids).subspan(front * global + rank.rank * batch_size, batch_size);
        std::vector<std::int64_t> expected;
        std::ranges::copy_if(own, std::back_inserter(expected), [](auto id) { return id >= 0; });
        CHECK(batch.ids == expected);
        for (std::size_t i = 0; i < expected.size(); ++i)
          CHECK(batch.locations[i] == locate(static_cast<std::uint64_t>(expected[i])));
        std::set<std::uint32_t> needs;
        for (const auto& need : batch.needs) needs.insert(need.shard);
        CHECK(needs.size() == batch.needs.size());
        CHECK(needs == shards_of(locate, node_ids(front)));
        CHECK(batch.own_needs == shards_of(locate, own).size());
        ahead.pop_front();
        ++front;
      }
      for (std::uint32_t shard = 0; shard < sizes.size(); ++shard) {
        std::uint64_t use = mds::never;
        for (std::uint64_t batch = end; batch-- > front;)
          if (shards_of(locate, node_ids(batch)).contains(shard)) use = batch;
        CHECK(ahead.next_use(shard) == use);
      }
    }
    while (!ahead.empty()) ahead.pop_front();
    CHECK(ahead.samples_ahead() == 0);
    CHECK_FALSE(ahead.extend());
  }
}
