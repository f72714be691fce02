#include <mdstream/order/shuffle/bijection.hpp>

#include <mdstream/order/shuffle/py1e.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

namespace bijection_test {

using mdstream::shuffle_task;
using ids = std::vector<std::int64_t>;

std::shared_ptr<const mdstream::detail::shard_table> table_of(
    const std::vector<std::uint64_t>& sizes) {
  return std::make_shared<mdstream::detail::shard_table>(
      std::vector<mdstream::stream_shards>{{.samples = sizes}});
}

shuffle_task task_of(const std::shared_ptr<const mdstream::detail::shard_table>& table,
                     std::uint64_t nodes, std::uint64_t epoch, std::uint64_t block) {
  return {.units = {table, 0, table->shards()},
          .num_canonical_nodes = nodes,
          .seed = 9176,
          .epoch = epoch,
          .block_size = block};
}

template <class Shuffler>
ids order_of(const shuffle_task& task) {
  auto sequence = Shuffler{}.open(task);
  ids out(sequence.size());
  sequence.read(0, out);
  return out;
}

TEST_CASE("every sample once, wherever one begins to read", "[order][property]") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::uint64_t> sizes(1 + random() % 60);
    for (auto& s : sizes) s = random() % 4 == 0 ? random() % 3 : random() % 200;
    sizes[0] += 1;
    const auto task = task_of(table_of(sizes), 1 + random() % 9, random() % 3, 1 + random() % 300);
    const ids all = order_of<mdstream::shuffle::bijection>(task);
    ids sorted = all;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < sorted.size(); ++k)
      REQUIRE(sorted[k] == static_cast<std::int64_t>(k));
    auto sequence = mdstream::shuffle::bijection{}.open(task);
    for (int jump = 0; jump < 30; ++jump) {
      const std::size_t at = random() % all.size();
      ids part(std::min<std::size_t>(1 + random() % 50, all.size() - at));
      sequence.read(at, part);
      REQUIRE(std::equal(part.begin(), part.end(), all.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

TEST_CASE("more shards than a group holds are read once, too", "[order]") {
  // The last row of groups is full with 40,000 shards, and has 7 of 20 with 39,987.
  const auto [shards, hash] = GENERATE(table<std::size_t, std::string>(
      {{40'000, "928c554c8f0d1e95"}, {39'987, "d58b4b7a24ccbee4"}}));
  const auto task = task_of(table_of(std::vector<std::uint64_t>(shards, 3)), 3, 1, 5000);
  ids all = order_of<mdstream::shuffle::bijection>(task);
  CHECK(golden::hash<std::int64_t>(all) == hash);
  std::sort(all.begin(), all.end());
  for (std::size_t k = 0; k < all.size(); ++k) REQUIRE(all[k] == static_cast<std::int64_t>(k));
}

TEST_CASE("groups of shards are counted alike for all and for some", "[order]") {
  std::vector<std::uint64_t> sizes(5000);
  std::iota(sizes.begin(), sizes.end(), 1);
  const auto table = table_of(sizes);
  for (const auto& [first, last] : {std::pair(0, 5000), std::pair(0, 4999), std::pair(0, 2049),
                                    std::pair(1, 5000), std::pair(17, 31)}) {
    const auto begin = static_cast<std::size_t>(first);
    const auto units = static_cast<std::size_t>(last) - begin;
    std::vector<std::uint64_t> sums;
    for (std::size_t g = 0; g < table->groups(units); ++g) {
      sums.push_back(0);
      for (std::size_t i = 0; i < table->group_size(units, g); ++i)
        sums.back() += sizes[begin + table->group_member(units, g, i)];
    }
    CHECK(table->group_sums(begin, begin + units) == sums);
  }
}

TEST_CASE("a sequence takes the place of another", "[order]") {
  const auto one = task_of(table_of({4, 1, 7}), 1, 0, 6), other = task_of(table_of({9}), 1, 0, 6);
  auto sequence = mdstream::shuffle::bijection{}.open(one);
  ids out(2);
  sequence.read(0, out);
  sequence = mdstream::shuffle::bijection{}.open(other);
  out.resize(sequence.size());
  sequence.read(0, out);
  CHECK(out == order_of<mdstream::shuffle::bijection>(other));
}

TEST_CASE("bijection gives these orders for ever", "[order][golden]") {
  const auto small = task_of(table_of({4, 1, 7, 3, 5}), 2, 1, 6);
  CHECK(order_of<mdstream::shuffle::bijection>(small) ==
        ids{4, 19, 18, 15, 16, 17, 3, 2, 0, 1, 12, 7, 13, 14, 11, 10, 9, 6, 8, 5});
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t k = 0; k < 500; ++k) sizes.push_back(1 + k * k % 211);
  CHECK(golden::hash<std::int64_t>(order_of<mdstream::shuffle::bijection>(
            task_of(table_of(sizes), 4, 3, 2000))) == "a00d2ed2bdb11c0d");
}

TEST_CASE("a canonical node keeps its samples in every epoch, in another order", "[order]") {
  const auto table = table_of(std::vector<std::uint64_t>(64, 50));
  const ids a = order_of<mdstream::shuffle::bijection>(task_of(table, 4, 0, 400));
  const ids b = order_of<mdstream::shuffle::bijection>(task_of(table, 4, 1, 400));
  CHECK(a != b);
  for (std::size_t node = 0; node < 4; ++node) {
    const auto first = static_cast<std::ptrdiff_t>(node * 800);
    CHECK(std::set<std::int64_t>(a.begin() + first, a.begin() + first + 800) ==
          std::set<std::int64_t>(b.begin() + first, b.begin() + first + 800));
  }
}

/// Shards that a node fetches whose cache holds `limit` shards. It drops the one whose next use is
/// farthest (as this library's cache does), or the one that was unused for longest.
std::size_t fetches(const mdstream::detail::shard_table& table, std::span<const std::int64_t> order,
                    std::size_t limit, bool by_next_use) {
  constexpr std::size_t never = ~std::size_t{0};
  std::vector<std::size_t> shard, next(order.size()), seen(table.shards(), never);
  for (const std::int64_t id : order)
    shard.push_back(table.shard_of(static_cast<std::uint64_t>(id)));
  for (std::size_t i = order.size(); i-- > 0;) {
    next[i] = seen[shard[i]];
    seen[shard[i]] = i;
  }
  std::unordered_map<std::size_t, std::size_t> rank;  // of residents: greatest is dropped first
  std::size_t count = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    count += rank.contains(shard[i]) ? 0 : 1;
    rank[shard[i]] = by_next_use ? next[i] : order.size() - i;
    if (rank.size() > limit)
      rank.erase(std::max_element(rank.begin(), rank.end(), [](const auto& x, const auto& y) {
        return x.second < y.second;
      }));
  }
  return count;
}

TEST_CASE("a node downloads no more than under py1e", "[order][statistics]") {
  const auto table = table_of(std::vector<std::uint64_t>(1000, 200));
  constexpr std::uint64_t nodes = 4, block = 8000;
  const ids ours = order_of<mdstream::shuffle::bijection>(task_of(table, nodes, 0, block));
  const ids theirs = order_of<mdstream::shuffle::py1e>(task_of(table, nodes, 0, block));
  const auto check = [&](std::size_t limit, bool by_next_use) {
    std::size_t mine = 0, its = 0;
    for (std::size_t n = 0; n < nodes; ++n) {
      mine += fetches(*table, std::span(ours).subspan(n * 50000, 50000), limit, by_next_use);
      its += fetches(*table, std::span(theirs).subspan(n * 50000, 50000), limit, by_next_use);
    }
    INFO("cache of " << limit << " shards: " << mine << " fetches, py1e " << its);
    CHECK(static_cast<double>(mine) <= 1.05 * static_cast<double>(its));
  };
  // A block is 40 shards long.
  for (const std::size_t limit : {1000U, 60U, 50U, 45U, 40U}) check(limit, true);
  for (const std::size_t limit : {1000U, 65U}) check(limit, false);
}

}  // namespace bijection_test
