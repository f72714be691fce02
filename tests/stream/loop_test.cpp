// What a loop asks a loader: how much an epoch has, which epoch comes next, and what is worse than
// it has to be.

#include <mdstream/launch/environment.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

namespace mds = mdstream;

namespace loop_test {

using scratch_directory::scratch;

/// Streams of 100 and 57 samples, in shards of 10.
struct two_streams {
  scratch dir;
  two_streams() {
    support::write_plain_dataset(dir / "a", std::vector<std::uint64_t>(10, 10), 0);
    support::write_plain_dataset(dir / "b", {10, 10, 10, 10, 10, 7}, 100);
  }
  [[nodiscard]] mds::loader_options options(mds::batching_method batching,
                                            mds::world world = {}) const {
    return {.streams = {{.local = dir / "a"}, {.local = dir / "b"}},
            .global_batch_size = 24,
            .shuffle_block_size = 60,
            .num_canonical_nodes = 2,
            .batching = batching,
            .world = world,
            .warn = [](const std::string&) {}};
  }
};

constexpr mds::batching_method methods[] = {
    mds::batching_method::random, mds::batching_method::stratified,
    mds::batching_method::per_stream, mds::batching_method::device_per_stream,
    mds::batching_method::once};

constexpr mds::world worlds[] = {{},
                                 {.ranks_per_node = 4},
                                 {.nodes = 2, .ranks_per_node = 2},
                                 {.workers_per_rank = 4},
                                 {.nodes = 2, .ranks_per_node = 3, .workers_per_rank = 2}};

}  // namespace loop_test

TEST_CASE("drop_last: every batch of every rank is full, and as many as batches_per_epoch says") {
  using namespace loop_test;
  const two_streams data;
  bool left_out = false;
  for (const mds::batching_method batching : methods) {
    if (batching == mds::batching_method::once) continue;
    for (mds::world world : worlds)
      for (; world.rank < world.num_ranks(); ++world.rank) {
        INFO(mds::to_string(batching) << ", " << world.text() << ", rank " << world.rank);
        auto options = data.options(batching, world);
        mds::loader<> all(options);
        options.drop_last = true;
        mds::loader<> loader(options);
        std::uint64_t batches = 0, samples = 0;
        for (const auto& batch : loader.epoch()) {
          CHECK(batch.size() == 24 / world.num_ranks());
          CHECK(batch.number() == batches++);
          samples += batch.size();
        }
        CHECK(batches == loader.batches_per_epoch());
        CHECK(loader.batches_left() == 0);
        CHECK(loader.rank_epoch_size() == samples);
        CHECK(batches <= all.batches_per_epoch());
        left_out = left_out || samples < all.rank_epoch_size();

        // The same batches come, so that a run can change the option.
        auto short_too = all.epoch();
        for (std::uint64_t i = 0; i < batches; ++i) {
          mds::loader<>::batch_type batch;
          REQUIRE(short_too.next(batch));
          CHECK(batch.size() == 24 / world.num_ranks());
        }
        // What makes no batch ends the epoch for a resumed run, too.
        mds::loader<> resumed(options);
        resumed.load_state(loader.state());
        CHECK(resumed.next_epoch() == 1);
        CHECK(resumed.batches_left() == batches);
      }
  }
  CHECK(left_out);
}

TEST_CASE("drop_last is refused where it cannot be, or leaves nothing") {
  using namespace loop_test;
  const two_streams data;
  auto options = data.options(mds::batching_method::once);
  options.drop_last = true;
  support::expect_error([&] { mds::loader<> loader(options); }, mds::errc::invalid_argument,
                        {"once", "drop_last"});
  options = data.options(mds::batching_method::random);
  options.drop_last = true;
  options.global_batch_size = 160;
  mds::loader<> loader(options);
  support::expect_error([&] { (void)loader.epoch().begin(); }, mds::errc::invalid_argument,
                        {"drop_last", "157 samples", "160"});
}

TEST_CASE("rank_epoch_size counts what a rank reads in an epoch, padding not") {
  using namespace loop_test;
  const two_streams data;
  for (const mds::batching_method batching : methods)
    for (mds::world world : worlds)
      for (; world.rank < world.num_ranks(); ++world.rank) {
        INFO(mds::to_string(batching) << ", " << world.text() << ", rank " << world.rank);
        mds::loader<> loader(data.options(batching, world));
        const std::uint64_t promised = loader.rank_epoch_size();
        std::uint64_t read = 0;
        for (const auto& batch : loader.epoch()) {
          read += batch.real_size();
          CHECK(loader.rank_epoch_size() == promised);
        }
        CHECK(read == promised);
      }
}

TEST_CASE("a loader tells its streams, its cache directory, and what each node reads") {
  using namespace loop_test;
  const two_streams data;
  auto options = data.options(mds::batching_method::random, {.nodes = 2});
  for (auto& stream : options.streams) stream.remote = std::exchange(stream.local, {});
  options.local = data.dir / "cache";
  options.shuffle = false;
  options.partition = mds::partition_algo::relaxed;
  mds::loader<> loader(options);
  CHECK(loader.cache_directory() == data.dir / "cache");
  const auto streams = loader.streams();
  REQUIRE(streams.size() == 2);
  CHECK(streams[1].shards == 6);
  CHECK(streams[1].samples == 57);
  CHECK(streams[1].choose == 57);
  CHECK(streams[1].directory.starts_with(data.dir / "cache/"));
  // Each node reads one half of the 157 samples, which shares a shard with the other half.
  const auto nodes = loader.nodes();
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].shards == 8);
  CHECK(nodes[1].shards == 9);
  CHECK(nodes[0].bytes + nodes[1].bytes > streams[0].bytes + streams[1].bytes);
  CHECK(loader.counters().shards_fetched == 0);

  const mds::loader<> in_place(data.options(mds::batching_method::random));
  CHECK(in_place.cache_directory().empty());
}

TEST_CASE("a loop that counts by next_epoch reads each epoch once, wherever it is interrupted") {
  using namespace loop_test;
  const two_streams data;
  for (const mds::batching_method batching : methods) {
    const auto options = data.options(batching);
    using places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    // Reads three epochs, or so many batches.
    const auto train = [&](std::string& state, std::size_t most, places& read) {
      mds::loader<> loader(options);
      if (!state.empty()) loader.load_state(state);
      while (most != 0 && loader.next_epoch() < 3)
        for (const auto& batch : loader.epoch()) {
          read.emplace_back(batch.epoch(), batch.number());
          if (--most == 0) break;
        }
      state = loader.state();
    };
    places whole;
    std::string none;
    train(none, 1'000'000, whole);
    REQUIRE(whole.size() > 12);
    for (std::size_t stop = 1; stop <= whole.size(); ++stop) {
      INFO(mds::to_string(batching) << ", stopped after " << stop << " batches");
      places got;
      std::string state;
      train(state, stop, got);
      train(state, 1'000'000, got);
      CHECK(got == whole);
      std::string ended = state;  // there is nothing left
      train(ended, 1'000'000, got);
      CHECK(got.size() == whole.size());
    }
  }
}

TEST_CASE("what makes an epoch worse than it has to be is warned of once, on the first rank") {
  using namespace loop_test;
  const two_streams data;
  const auto warned = [&](auto change, mds::world world = {}) {
    std::vector<std::string> out;
    auto options = data.options(mds::batching_method::random, world);
    options.warn = [&out](const std::string& text) { out.push_back(text); };
    change(options);
    mds::loader<> loader(options);
    CHECK(out.empty());
    for (int epoch = 0; epoch < 2; ++epoch)
      for (const auto& batch : loader.epoch()) static_cast<void>(batch);
    return out;
  };
  const auto one = [&](auto change, std::initializer_list<std::string_view> pieces,
                       mds::world world = {}) {
    const auto texts = warned(change, world);
    REQUIRE(texts.size() == 1);
    for (const std::string_view piece : pieces) {
      INFO(texts[0]);
      CHECK(texts[0].find(piece) != std::string::npos);
    }
  };
  CHECK(warned([](auto&) {}).empty());
  CHECK(warned([](auto& o) { o.predownload = 24; }).empty());
  one([](auto& o) { o.predownload = 8; }, {"predownload is 8 samples", "24"});
  CHECK(warned([](auto& o) { o.predownload = 8; }, {.ranks_per_node = 2, .rank = 1}).empty());
  one([](auto& o) { o.shuffle_block_size = 9; }, {"blocks of 9 samples", "shard of 10"});
  CHECK(warned([](auto& o) { o.shuffle_block_size = 10; }).empty());
  CHECK(warned([](auto& o) {
          o.shuffle_block_size = 9;
          o.shuffle = false;
        }).empty());
  CHECK(warned([](auto& o) {  // of each shard at most two samples
          o.shuffle_block_size = 9;
          o.epoch_size = 30;
        })
            .empty());
  one(
      [](auto& o) {
        o.streams = {o.streams[1]};
        o.num_canonical_nodes = 64;
        o.shuffle = false;
      },
      {"57 samples of an epoch", "64 canonical nodes", "num_canonical_nodes smaller"});
  one(
      [](auto& o) {
        o.epoch_size = 5;
        o.num_canonical_nodes = 1;
      },
      {"5 samples of an epoch", "8 ranks"}, {.ranks_per_node = 8});
  // 24 samples of a batch are 15 and 9 of the streams, for 6 batches.
  one([](auto& o) { o.batching = mds::batching_method::stratified; },
      {"\"stratified\"", "10 of the 100 samples of stream 0", "3 of the 57 samples of stream 1"});
  one([](auto& o) { o.batching = mds::batching_method::per_stream; },
      {"\"per_stream\"", "4 of the 100", "9 of the 57"});
  one([](auto& o) { o.batching = mds::batching_method::device_per_stream; },
      {"\"device_per_stream\"", "of the 100", "of the 57"});
}

TEST_CASE("what warnings say is left out is what no batch of the epoch has") {
  using namespace loop_test;
  const two_streams data;
  for (const auto batching : {mds::batching_method::stratified, mds::batching_method::per_stream}) {
    std::string warnings;
    auto options = data.options(batching);
    options.num_canonical_nodes = 1;  // else one of the 57 samples is repeated
    options.warn = [&warnings](const std::string& text) { warnings = text; };
    mds::loader<> loader(options);
    std::vector<bool> seen(157);
    for (const auto& batch : loader.epoch())
      for (const std::int64_t id : batch.ids()) seen[static_cast<std::size_t>(id)] = true;
    for (const auto& [first, end] : {std::pair{0, 100}, std::pair{100, 157}}) {
      const auto missing = std::count(seen.begin() + first, seen.begin() + end, false);
      INFO(warnings << ", missing " << missing);
      CHECK(warnings.find(std::to_string(missing) + " of the " + std::to_string(end - first)) !=
            std::string::npos);
    }
  }
}
