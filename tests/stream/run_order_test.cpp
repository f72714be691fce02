// Where an epoch ends for one world it has ended for all; what no epoch can be made of is refused
// before training.

#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/run_order.hpp>

#include <mdstream/mdstream.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;

namespace run_order_test {

using scratch_directory::scratch;

/// A dataset of so many samples, in shards of 20.
struct samples {
  scratch dir;
  explicit samples(std::uint64_t count) {
    std::vector<std::uint64_t> sizes(count / 20, 20);
    if (count % 20 != 0) sizes.push_back(count % 20);
    support::write_plain_dataset(dir / "data", sizes);
  }
  [[nodiscard]] mds::loader<>::options options(const mds::world& run_world,
                                               std::uint64_t global_batch = 24) const {
    return {.streams = {{.local = dir / "data"}},
            .global_batch_size = global_batch,
            .shuffle_block_size = 100,
            .world = run_world};
  }
};

std::uint64_t samples_of_epoch(mds::loader<>& loader) {
  std::uint64_t sum = 0;
  for (const auto& batch : loader.epoch()) sum += batch.size();
  return sum;
}

const mds::world worlds[] = {{},
                             {.ranks_per_node = 8},
                             {.nodes = 2, .ranks_per_node = 4},
                             {.nodes = 4, .ranks_per_node = 3},
                             {.nodes = 3},
                             {.nodes = 8},
                             {.nodes = 12, .ranks_per_node = 2}};

}  // namespace run_order_test

TEST_CASE("a state from the end of an epoch is finished in any world") {
  using namespace run_order_test;
  int went_on = 0;
  for (const std::uint64_t count : {117, 120, 24, 5}) {
    const samples data(count);
    for (const auto nodes : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(4)})
      for (const mds::world& before : worlds) {
        const auto at = [&](const mds::world& run_world) {
          auto options = data.options(run_world);
          options.num_canonical_nodes = nodes;
          options.shuffle_algo = "naive";
          return options;
        };
        std::string state;
        try {
          mds::loader<> saved(at(before));
          samples_of_epoch(saved);
          state = saved.state();
        } catch (const mds::error& e) {
          CHECK(e.code() == mds::errc::invalid_argument);
          continue;
        }
        for (const mds::world& after : worlds) {
          INFO(count << " samples, " << before.text() << ", then " << after.text());
          std::optional<mds::loader<>> resumed;
          try {
            resumed.emplace(at(after));
            resumed->load_state(state);
          } catch (const mds::error& e) {
            // Its next epoch cannot be dealt there.
            CHECK(e.code() == mds::errc::invalid_argument);
            continue;
          }
          CHECK(resumed->state().starts_with("{\"epoch\": 0"));
          CHECK(resumed->next_epoch() == 1);
          CHECK(samples_of_epoch(*resumed) * after.num_ranks() >= count);
          CHECK(resumed->state().starts_with("{\"epoch\": 1"));
          ++went_on;
        }
      }
  }
  CHECK(went_on > 100);
}

TEST_CASE("a state from the end of an epoch of 8 ranks goes on with one") {
  using namespace run_order_test;
  const samples data(117);
  mds::loader<> eight(data.options({.ranks_per_node = 8}, 8));
  CHECK(samples_of_epoch(eight) == 15);
  mds::loader<> one(data.options({}, 8));
  one.load_state(eight.state());
  CHECK(samples_of_epoch(one) == 117);
}

TEST_CASE("a world that could not begin an epoch goes on with one that another began") {
  using namespace run_order_test;
  const samples data(117);
  const auto at = [&](std::uint64_t nodes) {
    auto options = data.options({.nodes = nodes});
    options.num_canonical_nodes = 4;
    return options;
  };
  mds::loader<> four(at(4));
  mds::loader<>::batch_type batch;
  auto epoch = four.epoch();
  REQUIRE(epoch.next(batch));
  mds::loader<> three(at(3));
  three.load_state(four.state());
  CHECK(samples_of_epoch(three) >= 31);
}

TEST_CASE("drop_last: an epoch can be a batch longer on more ranks, which fill it by repeats") {
  using namespace run_order_test;
  const samples data(117);
  const auto at = [&](const mds::world& run_world) {
    auto options = data.options(run_world, 12);
    options.num_canonical_nodes = 1;
    options.drop_last = true;
    return options;
  };
  mds::loader<> one(at({})), twelve(at({.ranks_per_node = 12}));
  CHECK(one.batches_per_epoch() == 9);
  CHECK(twelve.batches_per_epoch() == 10);  // 3 samples of 120 are repeated
  CHECK(samples_of_epoch(one) == 9 * 12);
  CHECK(samples_of_epoch(twelve) == 10);
  // The epoch that one rank has ended has another batch for twelve, and the other way round none.
  mds::loader<> more(at({.ranks_per_node = 12}));
  more.load_state(one.state());
  CHECK(more.next_epoch() == 0);
  CHECK(more.batches_left() == 1);
  auto nine = twelve.epoch();
  mds::loader<>::batch_type batch;
  for (int i = 0; i < 9; ++i) REQUIRE(nine.next(batch));
  mds::loader<> none(at({}));
  none.load_state(twelve.state());
  CHECK(none.next_epoch() == 2);

  const samples few(11);  // one batch, which the ranks fill
  auto options = few.options({.ranks_per_node = 12}, 12);
  options.drop_last = true;
  mds::loader<> filled(options);
  CHECK(filled.batches_left() == 1);
  options.world = mds::world{};
  mds::loader<> unfilled(options);
  support::expect_error([&] { (void)unfilled.load_state(filled.state()); },
                        mds::errc::invalid_argument, {"drop_last", "11 samples", "12"});
}

TEST_CASE("batches of workers without a sample are not counted") {
  using namespace run_order_test;
  const samples data(117);
  const auto batching =
      GENERATE(mds::batching_method::random, mds::batching_method::per_stream,
               mds::batching_method::stratified, mds::batching_method::device_per_stream);
  auto options = data.options({.ranks_per_node = 2});
  options.batching = batching;
  for (const std::uint64_t workers : {1, 2, 3}) {
    options.num_workers = workers;
    mds::loader<> loader(options);
    const std::uint64_t batches = batching == mds::batching_method::random ||
                                          batching == mds::batching_method::device_per_stream
                                      ? 5
                                      : 4;
    CHECK(loader.batches_per_epoch() == batches);
    std::uint64_t left = batches;
    for (const auto& batch : loader.epoch()) {
      CHECK(batch.size() != 0);
      CHECK(loader.batches_left() == --left);
    }
    CHECK(left == 0);
  }
}

TEST_CASE("more ranks than samples: repeated as in Python, or refused before training") {
  using namespace run_order_test;
  const samples five(5);
  SECTION("ranks of one node repeat samples") {
    mds::loader<> loader(five.options({.ranks_per_node = 12, .rank = 11}));
    CHECK(samples_of_epoch(loader) == 1);
  }
  const auto refused = [](const mds::loader<>::options& options,
                          std::initializer_list<std::string_view> pieces) {
    support::expect_error(
        [&] {
          mds::loader<> loader(options);
          (void)loader.epoch().begin();
        },
        mds::errc::invalid_argument, pieces);
  };
  SECTION("nodes that share a canonical node of too few samples") {
    auto options = five.options({.nodes = 8});
    options.num_canonical_nodes = 1;
    refused(options, {"5 samples", "8 nodes", "at most 5 nodes"});
    const samples thirteen(13);
    options = thirteen.options({.nodes = 12});
    options.num_canonical_nodes = 1;
    refused(options, {"13 samples", "12 nodes", "num_canonical_nodes = 12"});
  }
  SECTION("canonical nodes without samples") {
    auto options = five.options({.nodes = 8});
    options.shuffle = true;
    refused(options, {"canonical node", "8", "no samples"});
  }
  SECTION("a later phase of a schedule") {
    auto options = five.options({.nodes = 8}, 8);
    options.num_canonical_nodes = 1;
    options.phases = {{.first_batch = 0, .weights = {{}}, .epoch_size = 80},
                      {.first_batch = 50, .weights = {{}}, .epoch_size = 9}};
    refused(options, {"9 samples", "8 nodes"});
  }
  SECTION("a state whose canonical nodes do not suit") {
    const auto plain = [&](const mds::world& run_world) {
      auto options = five.options(run_world);
      options.shuffle = false;
      return options;
    };
    const std::string state = mds::loader<>(plain({})).state();
    mds::loader<> loader(plain({.nodes = 8}));
    support::expect_error([&] { (void)loader.load_state(state); }, mds::errc::invalid_argument,
                          {"5 samples", "8 nodes"});
    CHECK(samples_of_epoch(loader) == 1);
  }
}
