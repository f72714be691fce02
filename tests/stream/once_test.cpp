#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/seed.hpp"

// Validation sets: every sample once, in order, the last batch padded, the same on any world.

namespace mds = mdstream;

namespace once_test {

using scratch_directory::scratch;
using ids_list = std::vector<std::int64_t>;
using global_batches = std::map<std::uint64_t, ids_list>;

/// Streams of shards of these sizes; ids count through all of them.
struct streams {
  scratch dir;
  std::int64_t samples = 0;
  std::vector<mds::stream_options> all;
  explicit streams(const std::vector<std::vector<std::uint64_t>>& sizes) {
    for (const auto& shards : sizes) {
      const std::string where = dir / std::to_string(all.size());
      samples = support::write_plain_dataset(where, shards, samples);
      all.push_back({.local = where});
    }
  }
  [[nodiscard]] mds::loader_options options(std::uint64_t global_batch) const {
    return {.streams = all,
            .global_batch_size = global_batch,
            .batching = mds::batching_method::once,
            .world = mds::world{}};
  }
  [[nodiscard]] ids_list every_id() const {
    ids_list out(static_cast<std::size_t>(samples));
    std::iota(out.begin(), out.end(), 0);
    return out;
  }
};

/// Rank after rank, the rows of each global batch that are no padding; checks the padding. Goes on
/// from a state, if it is not empty, and puts the state after `most` batches of each rank there.
global_batches read(mds::loader_options options, const mds::world& of, std::string& state,
                    std::int64_t samples, std::size_t most = 1000000) {
  global_batches out;
  const std::string from = state;
  for (std::uint64_t rank = 0; rank < of.num_ranks(); ++rank) {
    options.world = of;
    options.world->rank = rank;
    mds::loader<> loader(options);
    if (!from.empty()) loader.load_state(from);
    std::uint64_t left = loader.batches_left();
    std::size_t taken = 0;
    for (const auto& batch : loader.epoch()) {
      CHECK(batch.size() == options.global_batch_size / of.num_ranks());
      const auto ids = batch.ids();
      const auto column = batch.scalar<std::int64_t>("id");
      const std::vector<std::uint8_t> mask = batch.mask();
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const bool real = i < batch.real_size();
        CHECK(mask[i] == (real ? 1 : 0));
        CHECK(ids[i] == (real ? column[i] : -1));
        if (!real) CHECK(column[i] == samples - 1);
      }
      ids_list& global = out[batch.number()];
      global.insert(global.end(), ids.begin(),
                    ids.begin() + static_cast<std::ptrdiff_t>(batch.real_size()));
      CHECK(--left == loader.batches_left());
      if (++taken == most) break;
    }
    if (taken < most) CHECK(left == 0);
    if (rank != 0) CHECK(loader.state() == state);
    state = loader.state();
  }
  return out;
}

ids_list joined(const global_batches& batches) {
  ids_list out;
  for (const auto& [number, ids] : batches) out.insert(out.end(), ids.begin(), ids.end());
  return out;
}

/// All worlds of up to 12 ranks on up to 4 nodes whose ranks divide a global batch.
std::vector<mds::world> worlds_of(std::uint64_t global_batch) {
  std::vector<mds::world> out;
  for (std::uint64_t nodes = 1; nodes <= 4; ++nodes)
    for (std::uint64_t ranks = 1; ranks <= 3; ++ranks)
      if (global_batch % (nodes * ranks) == 0)
        out.push_back({.nodes = nodes, .ranks_per_node = ranks});
  return out;
}

}  // namespace once_test

TEST_CASE("once: every sample one time in the order of the datasets, the same on any world") {
  using namespace once_test;
  const streams data({{20, 20, 7}, {25, 5}, {40}});
  for (const std::uint64_t global : {24U, 117U, 130U, 12U}) {
    INFO("global batches of " << global);
    const auto worlds = worlds_of(global);
    REQUIRE(!worlds.empty());
    for (const mds::world& world : worlds) {
      INFO(world.text());
      std::string state;
      const global_batches got = read(data.options(global), world, state, data.samples);
      CHECK(joined(got) == data.every_id());
      CHECK(got.size() == (117 + global - 1) / global);
      for (const auto& [number, ids] : got)
        if (number + 1 < got.size()) CHECK(ids.size() == global);
    }
  }
}

TEST_CASE("once: more ranks than samples, and workers of Python, add no batch") {
  using namespace once_test;
  const streams data({{3, 2}});
  auto options = data.options(24);
  options.num_workers = 7;
  std::string state;
  const auto got = read(options, {.nodes = 3, .ranks_per_node = 8}, state, data.samples);
  CHECK(got == global_batches{{0, {0, 1, 2, 3, 4}}});
}

TEST_CASE("once: goes on in any world where it stopped, and the next epoch has all again") {
  using namespace once_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::vector<std::uint64_t>> sizes(1 + random() % 3);
    for (auto& shards : sizes) {
      shards.resize(1 + random() % 4);
      for (auto& size : shards) size = 1 + random() % 12;
    }
    const streams data(sizes);
    const std::uint64_t global = std::uint64_t{6} << random() % 3;
    const auto worlds = worlds_of(global);
    const mds::world before = worlds[random() % worlds.size()];
    const mds::world after = worlds[random() % worlds.size()];
    const auto all = (static_cast<std::uint64_t>(data.samples) + global - 1) / global;
    const std::size_t stop = 1 + random() % all;
    INFO(data.samples << " samples in batches of " << global << ", " << before.text() << ", after "
                      << stop << " of them " << after.text());
    std::string state;
    global_batches got = read(data.options(global), before, state, data.samples, stop);
    CHECK(got.size() == stop);
    if (stop < all) got.merge(read(data.options(global), after, state, data.samples));
    CHECK(joined(got) == data.every_id());

    mds::loader<> ended(data.options(global));
    ended.load_state(state);
    CHECK(ended.next_epoch() == 1);
    std::int64_t next = 0;
    for (const auto& batch : ended.epoch())
      for (std::size_t i = 0; i < batch.real_size(); ++i) CHECK(batch.ids()[i] == next++);
    CHECK(next == data.samples);
  }
}

namespace once_test {

using numbers = mds::schema<mds::column<"id", mds::int_>>;

struct draw {
  using output = mds::schema<mds::column<"drawn", std::uint64_t>>;
  void operator()(const mds::sample_view<numbers>&, mds::sample_writer<output>& out,
                  mds::sample_generator& random) const {
    out.write(random());
  }
};
using drawing = mds::policies<numbers, draw, mds::collate::dense>;

}  // namespace once_test

TEST_CASE("once: a transform draws the same numbers for a sample on any world") {
  using namespace once_test;
  const streams data({{20, 9}, {8}});
  std::map<std::int64_t, std::uint64_t> expected;
  for (const mds::world& world : worlds_of(12)) {
    INFO(world.text());
    std::map<std::int64_t, std::uint64_t> drawn;
    for (std::uint64_t rank = 0; rank < world.num_ranks(); ++rank) {
      auto options = data.options(12);
      options.world = world;
      options.world->rank = rank;
      mds::loader<drawing> loader(options);
      for (const auto& batch : loader.epoch()) {
        const auto values = batch.get<"drawn">();
        CHECK(values.size() == 12 / world.num_ranks());
        for (std::size_t i = 0; i < batch.real_size(); ++i) drawn[batch.ids()[i]] = values[i];
      }
    }
    CHECK(drawn.size() == 37);
    if (expected.empty()) expected = drawn;
    CHECK(drawn == expected);
  }
}

namespace once_test {

using packing = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t>>>,
                              mds::collate::packed<mds::collate::packing{.row = 16, .group = 4}>>;

}  // namespace once_test

TEST_CASE("once: packed rows have every sample one time, and as many batches on every rank") {
  using namespace once_test;
  const scratch dir;
  {
    mds::writer<packing> out({.out = dir / "data", .size_limit = 200});
    for (std::uint16_t i = 0; i < 37; ++i) out.write(std::vector<std::uint16_t>(1 + i % 7, i));
    out.finish();
  }
  for (const mds::world& world : worlds_of(12)) {
    INFO(world.text());
    std::vector<int> seen(37);
    std::string state;
    for (std::uint64_t rank = 0; rank < world.num_ranks(); ++rank) {
      mds::world rank_world = world;
      rank_world.rank = rank;
      mds::loader<packing> loader({.local = dir / "data",
                                   .global_batch_size = 12,
                                   .batching = mds::batching_method::once,
                                   .world = rank_world});
      int batches = 0;
      for (const auto& batch : loader.epoch()) {
        ++batches;
        // The one sample that is left of the last batch is that of the last rank.
        const bool nothing_left = batches == 4 && rank + 1 != world.num_ranks();
        CHECK(batch.size() == (batches == 4 ? 1 : 12 / world.num_ranks()));
        CHECK(batch.real_size() == (nothing_left ? 0 : batch.size()));
        for (const std::int64_t id : batch.ids().first(batch.real_size()))
          ++seen[static_cast<std::size_t>(id)];
      }
      CHECK(batches == 4);
      if (rank != 0) CHECK(loader.state() == state);
      state = loader.state();
    }
    CHECK(std::ranges::count(seen, 1) == 37);
    mds::loader<packing> ended({.local = dir / "data",
                                .global_batch_size = 12,
                                .batching = mds::batching_method::once,
                                .world = mds::world{}});
    ended.load_state(state);
    CHECK(ended.next_epoch() == 1);
  }
}

TEST_CASE("once: padding stays padding where a bad shard is substituted") {
  using namespace once_test;
  const scratch dir;
  support::write_plain_dataset(dir / "data", {4, 4, 2});
  std::filesystem::remove(dir / "data/shard.00002.mds");
  mds::loader<> loader({.remote = dir / "data",
                        .local = dir / "cache",
                        .batch_size = 6,
                        .batching = mds::batching_method::once,
                        .world = mds::world{},
                        .on_bad_shard = mds::bad_shards::substitute,
                        .patience = std::chrono::milliseconds(0),
                        .warn = [](const std::string&) {}});
  std::vector<ids_list> got;
  for (const auto& batch : loader.epoch()) got.emplace_back(batch.ids().begin(), batch.ids().end());
  CHECK(got == std::vector<ids_list>{{0, 1, 2, 3, 4, 5}, {6, 7, 0, 1, -1, -1}});
}

TEST_CASE("once: what would draw or repeat samples is refused, and so is Python's state") {
  using namespace once_test;
  const streams data({{20, 20, 7}, {25, 5}});
  const auto refused = [&](auto change, std::initializer_list<std::string_view> pieces) {
    auto options = data.options(12);
    change(options);
    support::expect_error([&] { const mds::loader<> loader(options); }, mds::errc::invalid_argument,
                          pieces);
  };
  refused([](auto& o) { o.epoch_size = mds::sample_count(40); }, {"once", "epoch_size"});
  refused([](auto& o) { o.streams[1].repeat = 0.5; }, {"once", "30 samples of stream 1", "15"});
  refused([](auto& o) { o.streams[0].choose = 94; }, {"once", "47 samples of stream 0", "94"});
  refused([](auto& o) { o.streams[0].proportion = o.streams[1].proportion = 0.5; }, {"once"});
  refused([](auto& o) { o.phases = {{.weights = {{}, {}}}}; }, {"once", "phases"});
  mds::loader<> loader(data.options(12));
  support::expect_error([&] { (void)loader.python_state(); }, mds::errc::unsupported, {"once"});
  auto shuffled = data.options(12);
  shuffled.batching = mds::batching_method::random;
  const std::string state = loader.state();
  support::expect_error([&] { mds::loader<>(shuffled).load_state(state); },
                        mds::errc::state_mismatch, {"batching", "\"once\"", "\"random\""});
}
