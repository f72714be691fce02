#include <mdstream/order/shuffler.hpp>

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <algorithm>
#include <vector>

namespace shuffler_test {

/// All that a shuffler needs to be: the epoch backwards.
struct backwards {
  struct sequence {
    mdstream::shuffle_units units;
    [[nodiscard]] std::uint64_t size() const { return units.size(); }
    void read(std::uint64_t first, std::span<std::int64_t> out) {
      units.read(units.size() - first - out.size(), out);
      std::reverse(out.begin(), out.end());
    }
  };
  static constexpr std::string_view name() { return "backwards"; }
  sequence open(const mdstream::shuffle_task& task) const { return {task.units}; }
};
static_assert(mdstream::shuffler<backwards>);

struct nameless {
  backwards::sequence open(const mdstream::shuffle_task& task) const { return {task.units}; }
};
static_assert(!mdstream::shuffler<nameless>);
static_assert(!mdstream::shuffler<int>);

template <class Shuffler>
std::vector<std::int64_t> epoch_of(Shuffler model) {
  const std::vector<mdstream::stream_shards> streams{{.samples = {2, 3}}};
  const mdstream::order_engine<Shuffler> engine(streams, {.shuffle = true}, model);
  auto run = engine.begin_run();
  const auto order = engine.epoch({}, 2, run.begin_epoch({}));
  std::vector<std::int64_t> ids(order.positions());
  order.ids(0, ids);
  return ids;
}

TEST_CASE("a program's own shuffler is used as the built-in ones", "[order]") {
  CHECK(epoch_of(backwards{}) == std::vector<std::int64_t>{4, 3, 2, 1, 0, -1});
  CHECK(epoch_of(mdstream::any_shuffler<backwards>("backwards")) == epoch_of(backwards{}));
  CHECK(mdstream::canonical_nodes_factor(backwards{}) == 1);
}

TEST_CASE("no canonical nodes are refused, and more than there can be", "[order]") {
  const auto table = std::make_shared<mdstream::detail::shard_table>(
      std::vector<mdstream::stream_shards>{{.samples = {4, 1}}});
  for (const char* const name : {"py1e", "py1br", "py1s", "py2s", "bijection"})
    for (const std::uint64_t nodes : {std::uint64_t{0}, std::uint64_t{1} << 32}) {
      INFO(name << ", " << nodes);
      const mdstream::shuffle::any shuffler(name);
      support::expect_error(
          [&] {
            static_cast<void>(shuffler.open({.units = {table, 0, table->shards()},
                                             .num_canonical_nodes = nodes,
                                             .block_size = 4}));
          },
          mdstream::errc::invalid_argument, {std::to_string(nodes)});
    }
}

TEST_CASE("an order refuses positions beyond its end", "[order]") {
  const mdstream::epoch_order nothing;
  CHECK(nothing.positions() == 0);
  std::vector<std::int64_t> one(1);
  support::expect_error([&] { nothing.ids(0, one); }, mdstream::errc::out_of_range, {"0"});
  support::expect_error([&] { nothing.ids(~0ULL, one); }, mdstream::errc::out_of_range);
}

}  // namespace shuffler_test
