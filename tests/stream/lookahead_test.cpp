#include <mdstream/stream/detail/lookahead.hpp>

#include <mdstream/async/detail/pool.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;

namespace lookahead_test {

struct fixed_ids {
  std::vector<std::int64_t> values;
  [[nodiscard]] std::uint64_t size() const { return values.size(); }
  void read(std::uint64_t first, std::span<std::int64_t> out) {
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), out.size(), out.begin());
  }
};

/// The same, which fails at some readings.
struct failing_ids : fixed_ids {
  std::shared_ptr<int> readings = std::make_shared<int>(0);
  void read(std::uint64_t first, std::span<std::int64_t> out) {
    if (++*readings % 3 == 0) throw std::runtime_error("no ids now");
    fixed_ids::read(first, out);
  }
};

mds::detail::batch_reader counting_reader(const mds::detail::shard_locator& locate,
                                          std::uint64_t samples) {
  fixed_ids order;
  for (std::uint64_t i = 0; i < samples; ++i) order.values.push_back(static_cast<std::int64_t>(i));
  return {locate, locate.shards(), mds::epoch_order(std::move(order), 64), {}, 64};
}

std::set<std::uint32_t> shards_of(const mds::detail::shard_locator& locate,
                                  std::span<const std::int64_t> ids) {
  std::set<std::uint32_t> shards;
  for (const std::int64_t id : ids)
    if (id >= 0) shards.insert(locate(static_cast<std::uint64_t>(id)).shard);
  return shards;
}

}  // namespace lookahead_test

TEST_CASE("batches, their shards and every next use agree with a search through the order") {
  using namespace lookahead_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint64_t> sizes(1 + random() % 12);
    for (auto& size : sizes) size = 1 + random() % 20;
    const mds::detail::shard_locator locate(sizes);
    const mds::world run_world{.nodes = 1 + random() % 2, .ranks_per_node = 1 + random() % 3};
    mds::world rank = run_world;
    rank.rank = random() % run_world.num_ranks();
    const std::uint64_t batch_size = 1 + random() % 5;
    const std::uint64_t global = run_world.num_ranks() * batch_size;
    const std::uint64_t batches = 1 + random() % 20;
    std::vector<std::int64_t> ids(batches * global);
    for (auto& id : ids)
      id = random() % 10 == 0 ? -1 : static_cast<std::int64_t>(random() % locate.samples());

    mds::detail::lookahead ahead(locate, sizes.size(), mds::epoch_order(fixed_ids{ids}, global),
                                 rank, batch_size);
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
        std::uint64_t use = mds::detail::never;
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

TEST_CASE("an order that is read ahead gives the same batches, however late who reads it is") {
  using namespace lookahead_test;
  constexpr std::uint64_t samples = 64 * 1000;  // eight blocks
  const mds::detail::shard_locator locate(std::vector<std::uint64_t>(500, 128));
  mds::detail::thread_pool pool(2);
  std::vector<mds::detail::unique_function<void()>> kept;
  const auto at_once = [&](mds::detail::unique_function<void()> work) {
    pool.post(std::move(work));
  };
  const auto never = [&](mds::detail::unique_function<void()> work) {
    kept.push_back(std::move(work));
  };
  const auto later = [&](mds::detail::unique_function<void()> work) {
    pool.post([work = std::move(work)]() mutable {
      std::this_thread::yield();
      work();
    });
  };
  for (const mds::detail::read_ahead::executor& elsewhere :
       {mds::detail::read_ahead::executor{}, mds::detail::read_ahead::executor{at_once},
        mds::detail::read_ahead::executor{never}, mds::detail::read_ahead::executor{later}}) {
    mds::detail::batch_reader expected = counting_reader(locate, samples);
    mds::detail::read_ahead ahead(counting_reader(locate, samples), elsewhere);
    mds::detail::upcoming_batch one, other;
    std::size_t batches = 0;
    for (; expected.read(one); ++batches) {
      REQUIRE(ahead.read(other));
      REQUIRE(other.number == one.number);
      REQUIRE(other.ids == one.ids);
      REQUIRE(other.locations == one.locations);
      REQUIRE(other.needs.size() == one.needs.size());
      REQUIRE(other.own_needs == one.own_needs);
    }
    CHECK(batches == 1000);
    CHECK_FALSE(ahead.read(other));
    CHECK_FALSE(ahead.read(other));
  }
  for (auto& work : kept) work();  // their reader is gone: nothing is touched
}

TEST_CASE("a reader may be dropped while its order is read, and what fails is tried again") {
  using namespace lookahead_test;
  const mds::detail::shard_locator locate(std::vector<std::uint64_t>(500, 128));
  mds::detail::thread_pool pool(2);
  const auto elsewhere = [&](mds::detail::unique_function<void()> work) {
    pool.post(std::move(work));
  };
  for (int i = 0; i < 30; ++i) {
    mds::detail::read_ahead ahead(counting_reader(locate, 64 * 1000), elsewhere);
    mds::detail::upcoming_batch batch;
    for (int k = 0; k < i; ++k) REQUIRE(ahead.read(batch));
  }
  failing_ids order;
  for (std::int64_t i = 0; i < 64 * 300; ++i) order.values.push_back(i);
  mds::detail::read_ahead ahead(
      mds::detail::batch_reader(locate, 500, mds::epoch_order(std::move(order), 64), {}, 64),
      elsewhere);
  mds::detail::upcoming_batch batch;
  std::uint64_t next = 0, failures = 0;
  while (next < 300) {
    try {
      const bool got = ahead.read(batch);
      REQUIRE(got);
      REQUIRE(batch.number == next);
      REQUIRE(batch.ids.front() == static_cast<std::int64_t>(64 * next));
      ++next;
    } catch (const std::runtime_error&) {
      ++failures;
    }
  }
  CHECK(failures > 0);
  CHECK_FALSE(ahead.read(batch));
}
