#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/detail/run_order.hpp>

#include <mdstream/mdstream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"

// Mixes of streams through the real loader: every batching method, and mixes that change.

namespace mds = mdstream;

namespace mix_test {

using scratch_directory::scratch;
using global_batches =
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::multiset<std::int64_t>>;

/// Three streams of 240, 160 and 80 samples.
struct three_streams {
  scratch dir;
  three_streams() {
    support::write_plain_dataset(dir / "a", std::vector<std::uint64_t>(12, 20), 0);
    support::write_plain_dataset(dir / "b", std::vector<std::uint64_t>(8, 20), 240);
    support::write_plain_dataset(dir / "c", std::vector<std::uint64_t>(4, 20), 400);
  }
  [[nodiscard]] mds::loader<>::options options() const {
    return {.streams = {{.local = dir / "a"}, {.local = dir / "b"}, {.local = dir / "c"}},
            .global_batch_size = 24,
            .shuffle_block_size = 100,
            .num_canonical_nodes = 2,
            .world = mds::world{}};
  }
};

int stream_of(std::int64_t id) { return id < 240 ? 0 : id < 400 ? 1 : 2; }

/// All ranks of a world, from a state if there is one; stops after `batches` of each rank.
global_batches read(mds::loader<>::options options, std::uint64_t nodes, std::uint64_t ranks,
                    int epochs, std::string* state = nullptr, std::size_t batches = 1000000) {
  global_batches out;
  const std::string from = state == nullptr ? "" : *state;
  for (std::uint64_t rank = 0; rank < nodes * ranks; ++rank) {
    options.world = mds::world{.nodes = nodes, .ranks_per_node = ranks, .rank = rank};
    mds::loader<> loader(options);
    if (!from.empty()) loader.load_state(from);
    std::size_t left = batches;
    for (int epoch = 0; epoch < epochs && left > 0; ++epoch) {
      std::optional<std::uint64_t> to_come;  // known before the first epoch; later ones may differ
      if (epoch == 0) to_come = loader.batches_left();
      for (const auto& batch : loader.epoch()) {
        const auto column = batch.scalar<std::int64_t>("id");
        CHECK(std::ranges::equal(column, batch.ids()));
        out[{batch.epoch(), batch.number()}].insert(column.begin(), column.end());
        if (to_come) CHECK(loader.batches_left() == *to_come - 1);
        to_come = loader.batches_left();
        CHECK(batch.number() + 1 + *to_come == loader.batches_per_epoch());
        if (--left == 0) break;
      }
      if (left > 0) CHECK(to_come == 0U);
    }
    if (state != nullptr) *state = loader.state();
  }
  return out;
}

/// Leaves out batches that are not full, which repeats may fill in a way of the world.
global_batches full(global_batches of) {
  std::uint64_t last = 0;
  for (const auto& [where, ids] : of) last = std::max(last, where.second);
  std::erase_if(of, [last](const auto& each) { return each.first.second == last; });
  return of;
}

}  // namespace mix_test

TEST_CASE("every batching method mixes as it says, the same in every world, also after a resume") {
  using namespace mix_test;
  const three_streams data;
  auto options = data.options();
  options.streams[0].proportion = 0.5;
  options.streams[1].proportion = 0.25;
  options.streams[2].proportion = 0.25;
  options.epoch_size = mds::sample_count(480);
  const auto method = GENERATE(mds::batching_method::random, mds::batching_method::stratified,
                               mds::batching_method::per_stream);
  options.batching = method;
  const global_batches expected = read(options, 1, 1, 2);
  CHECK(expected.size() >= 30);
  for (const auto& [where, ids] : expected) {
    std::array<int, 3> count{};
    for (const auto id : ids) ++count[static_cast<std::size_t>(stream_of(id))];
    if (method == mds::batching_method::stratified) CHECK(count == std::array{12, 6, 6});
    if (method == mds::batching_method::per_stream) CHECK(std::ranges::count(count, 24) == 1);
  }
  CHECK(full(read(options, 1, 2, 2)) == full(expected));
  CHECK(full(read(options, 2, 1, 2)) == full(expected));
  CHECK(full(read(options, 2, 2, 2)) == full(expected));
  std::string state;
  global_batches got = read(options, 1, 1, 2, &state, 7);
  got.merge(read(options, 2, 2, 2, &state));
  CHECK(full(got) == full(expected));
}

TEST_CASE("a loader tells its streams and the mix that was settled") {
  using namespace mix_test;
  const three_streams data;
  auto options = data.options();
  options.streams[0].repeat = 0.5;
  options.streams[2].choose = 200;
  const auto streams = mds::loader<>(options).streams();
  REQUIRE(streams.size() == 3);
  const std::array samples{240, 160, 80}, shards{12, 8, 4}, choose{120, 160, 200};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(streams[i].name == data.dir / std::string(1, static_cast<char>('a' + i)));
    CHECK(streams[i].directory == streams[i].name);
    CHECK(streams[i].samples == static_cast<std::uint64_t>(samples[i]));
    CHECK(streams[i].shards == static_cast<std::uint64_t>(shards[i]));
    CHECK(streams[i].choose == static_cast<std::uint64_t>(choose[i]));
    CHECK(streams[i].proportion == Approx(choose[i] / 480.0));
    CHECK(streams[i].repeat == Approx(1.0 * choose[i] / samples[i]));
  }
}

TEST_CASE("an id says which stream, shard and sample it is") {
  using namespace mix_test;
  const three_streams data;
  const mds::loader<> loader(data.options());
  for (std::int64_t id = 0; id < 480; ++id) {
    const std::int64_t in_stream =
        id - std::array{0, 240, 400}[static_cast<std::size_t>(stream_of(id))];
    CHECK(loader.origin(id) ==
          mds::sample_origin{.stream = static_cast<std::size_t>(stream_of(id)),
                             .shard = static_cast<std::uint32_t>(in_stream / 20),
                             .index = static_cast<std::uint32_t>(in_stream % 20)});
  }
  support::expect_error([&] { (void)loader.origin(480); }, mds::errc::out_of_range,
                        {"sample 480 of 480"});
  support::expect_error([&] { (void)loader.origin(-1); }, mds::errc::out_of_range);
}

TEST_CASE("device_per_stream gives each rank's batch one stream, and goes on where it stopped") {
  using namespace mix_test;
  const three_streams data;
  auto options = data.options();
  options.batching = mds::batching_method::device_per_stream;
  const auto batches_of = [&](std::string* state, std::size_t most) {
    std::vector<std::vector<std::int64_t>> out;
    options.world = mds::world{.ranks_per_node = 2, .rank = 1};
    mds::loader<> loader(options);
    if (state != nullptr && !state->empty()) loader.load_state(*state);
    for (const auto& batch : loader.epoch()) {
      out.emplace_back(batch.ids().begin(), batch.ids().end());
      if (out.size() == most) break;
    }
    if (state != nullptr) *state = loader.state();
    return out;
  };
  const auto expected = batches_of(nullptr, 1000);
  CHECK(expected.size() > 10);
  for (const auto& batch : expected) {
    std::set<int> streams;
    for (const auto id : batch) streams.insert(stream_of(id));
    CHECK(streams.size() == 1);
  }
  std::string state;
  auto got = batches_of(&state, 4);
  const auto rest = batches_of(&state, 1000);
  got.insert(got.end(), rest.begin(), rest.end());
  CHECK(got == expected);
}

TEST_CASE("a mix schedule changes the weights at its batches, and goes on in any world") {
  using namespace mix_test;
  const three_streams data;
  auto options = data.options();
  options.phases = {{.weights = {{.proportion = 1.0}, {.proportion = 1.0}, {.proportion = 2.0}},
                     .epoch_size = 240},
                    {.first_batch = 14,
                     .weights = {{.proportion = 10.0}, {.proportion = 1.0}, {.proportion = 1.0}},
                     .epoch_size = 480}};
  // Phase 0: epoch 0 of 10 batches and 4 of epoch 1; phase 1: epochs 2 and 3 of 20 batches.
  const global_batches expected = read(options, 1, 1, 4);
  CHECK(expected.size() == 54);
  std::map<std::uint64_t, std::size_t> batches;
  std::map<std::uint64_t, std::array<int, 3>> counts;
  for (const auto& [where, ids] : expected) {
    CHECK(ids.size() == 24);
    ++batches[where.first];
    for (const auto id : ids) ++counts[where.first][static_cast<std::size_t>(stream_of(id))];
  }
  CHECK(batches == std::map<std::uint64_t, std::size_t>{{0, 10}, {1, 4}, {2, 20}, {3, 20}});
  CHECK(counts[0] == std::array{60, 60, 120});
  CHECK(counts[2] == std::array{400, 40, 40});

  for (const std::size_t stop : {3U, 10U, 12U, 14U, 30U}) {
    INFO("stopped after " << stop);
    std::string state;
    global_batches got = read(options, 1, 1, 4, &state, stop);
    got.merge(read(options, 2, 2, 5, &state));
    std::erase_if(got, [](const auto& each) { return each.first.first > 3; });
    CHECK(got == expected);
  }
}

TEST_CASE("the mix may change in mid-run: what has begun has to be the same, what comes need not") {
  using namespace mix_test;
  const three_streams data;
  auto plain = data.options();
  const std::array weights{1.0, 1.0, 2.0};
  for (std::size_t k = 0; k < 3; ++k) plain.streams[k].proportion = weights[k];
  plain.epoch_size = mds::sample_count(240);
  auto options = data.options();
  options.phases = {{.weights = {{.proportion = 1.0}, {.proportion = 1.0}, {.proportion = 2.0}},
                     .epoch_size = 240},
                    {.first_batch = 10,
                     .weights = {{.proportion = 1.0}, {.proportion = 2.0}, {.proportion = 1.0}},
                     .epoch_size = 240}};
  std::string state;
  const auto before = read(plain, 1, 1, 1, &state, 5);
  std::string later = state;
  const auto after = read(options, 1, 2, 2, &later);
  CHECK(after.size() == 15);
  const auto whole = read(plain, 1, 1, 1);
  for (const auto& [where, ids] : after)
    if (where.first == 0) CHECK(ids == whole.at(where));

  mds::loader<> in_second_phase(options);
  in_second_phase.load_state(later);
  support::expect_error([&] { (void)in_second_phase.python_state(); }, mds::errc::unsupported,
                        {"mix schedule"});
  auto other = options;
  other.phases[1].weights[0].proportion = 7.0;
  mds::loader<> not_the_same(other);
  support::expect_error([&] { not_the_same.load_state(later); }, mds::errc::state_mismatch,
                        {"mix"});
  not_the_same.load_state(state);
  mds::loader<> unphased(plain);
  support::expect_error([&] { unphased.load_state(later); }, mds::errc::state_mismatch,
                        {"phase 1", "0"});
  options.streams[0].proportion = 1.0;
  support::expect_error([&] { mds::loader<> refused(options); }, mds::errc::invalid_argument,
                        {"weights of a mix schedule"});
}

TEST_CASE("weights that are no numbers, and streams that do not fit together, are refused") {
  using namespace mix_test;
  const three_streams data;
  auto options = data.options();
  for (auto& stream : options.streams) stream.proportion = 1.0;
  for (const double bad : {std::nan(""), -1.0, HUGE_VAL}) {
    options.streams[1].proportion = bad;
    support::expect_error([&] { mds::loader<> refused(options); }, mds::errc::invalid_argument, {});
  }
}
