#include <mdstream/order/detail/shuffle/py1e_plan.hpp>

#include <mdstream/order/shuffle/py1e.hpp>

#include "support/catch.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace py1e_plan_test {

using ids = std::vector<std::int64_t>;

/// Keeps plans in memory, and counts.
struct memory {
  std::map<std::string, std::vector<std::byte>, std::less<>> files{};
  int loads = 0, saves = 0;

  mdstream::detail::plan_store store() {
    return {.load =
                [this](std::string_view name) {
                  ++loads;
                  const auto found = files.find(name);
                  return found == files.end() ? std::vector<std::byte>{} : found->second;
                },
            .save =
                [this](std::string_view name, mdstream::bytes_view content) {
                  ++saves;
                  files[std::string(name)].assign(content.begin(), content.end());
                }};
  }
};

mdstream::shuffle_task task_of(const mdstream::detail::plan_store* plans, std::uint64_t epoch) {
  const std::vector<mdstream::stream_shards> streams{{.samples = {50, 7, 120, 33, 90, 10}}};
  const auto table = std::make_shared<mdstream::detail::shard_table>(streams);
  mdstream::order_options options;
  options.shuffle = true;
  const std::vector<std::uint64_t> choose{500};
  return {.units = mdstream::detail::resampler(table, 9176, 3, options).units(0, 1, choose),
          .num_canonical_nodes = 3,
          .seed = 9176,
          .epoch = epoch,
          .block_size = 60,
          .plans = plans};
}

ids order_of(const mdstream::shuffle_task& task) {
  auto sequence = mdstream::shuffle::py1e{}.open(task);
  ids out(sequence.size());
  sequence.read(0, out);
  return out;
}

TEST_CASE("a kept plan gives the same order", "[order]") {
  memory kept;
  const auto store = kept.store();
  const ids expected = order_of(task_of(nullptr, 3));
  CHECK(order_of(task_of(&store, 3)) == expected);
  CHECK(kept.saves == 1);
  CHECK(order_of(task_of(&store, 3)) == expected);
  CHECK(kept.saves == 1);
  CHECK(order_of(task_of(&store, 4)) != expected);
  CHECK(kept.saves == 2);
}

TEST_CASE("a damaged plan is computed again", "[order]") {
  memory kept;
  const auto store = kept.store();
  const ids expected = order_of(task_of(&store, 3));
  const auto good = kept.files.begin()->second;
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 97) {
    kept.files.begin()->second = good;
    kept.files.begin()->second[i] ^= std::byte{16};
    REQUIRE(order_of(task_of(&store, 3)) == expected);
  }
  for (std::size_t length = 0; length < good.size(); length += 61) {
    kept.files.begin()->second.assign(good.begin(),
                                      good.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE(order_of(task_of(&store, 3)) == expected);
  }
  CHECK(kept.saves > 100);
}

}  // namespace py1e_plan_test
