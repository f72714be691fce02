// Runs that are killed and go on in another world read the same global batches.

#include <mdstream/order/mix_schedule.hpp>

#include <mdstream/order/detail/epoch_plan.hpp>
#include <mdstream/order/shuffle.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace resume_test {

using engine = mdstream::order_engine<mdstream::shuffle::any>;
using batch = std::vector<std::int64_t>;
constexpr std::uint64_t global_batch = 48;

/// Worlds of 1, 2, 3, 6 and 8 distinct ranks, some with replication.
mdstream::world random_world(std::mt19937_64& random) {
  const mdstream::world worlds[] = {{.nodes = 1, .ranks_per_node = 1},
                                    {.nodes = 2, .ranks_per_node = 1},
                                    {.nodes = 1, .ranks_per_node = 2},
                                    {.nodes = 3, .ranks_per_node = 1},
                                    {.nodes = 1, .ranks_per_node = 3},
                                    {.nodes = 2, .ranks_per_node = 3},
                                    {.nodes = 6, .ranks_per_node = 1},
                                    {.nodes = 2, .ranks_per_node = 4},
                                    {.nodes = 4, .ranks_per_node = 2},
                                    mdstream::world{.nodes = 3, .ranks_per_node = 4}.replicate(2),
                                    mdstream::world{.nodes = 2, .ranks_per_node = 4}.replicate(4)};
  mdstream::world out = worlds[random() % std::size(worlds)];
  out.workers_per_rank = 1 + random() % 4;
  return out;
}

batch sorted_batch(const mdstream::epoch_order& order, std::uint64_t t) {
  batch ids(global_batch);
  order.ids(t * global_batch, ids);
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<mdstream::stream_shards> random_streams(std::mt19937_64& random) {
  std::vector<mdstream::stream_shards> streams(1 + random() % 3);
  for (auto& s : streams) {
    s.samples.resize(5 + random() % 40);
    for (auto& n : s.samples) n = 20 + random() % 100;
  }
  return streams;
}

TEST_CASE("a run that ends anywhere goes on in any world with the same global batches",
          "[order][property]") {
  const std::uint64_t seed = support::test_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  int walks = 0;
  for (int i = 0; i < 60; ++i) {
    const char* const names[] = {"py1e", "bijection", "py1br", "py1s", "py2s", "naive"};
    const auto streams = random_streams(random);
    const std::uint64_t canonical_nodes = std::vector<std::uint64_t>{1, 2, 6, 12, 24}[random() % 5];
    const engine e(streams,
                   {.num_canonical_nodes = canonical_nodes,
                    .shuffle = true,
                    .shuffle_seed = random() % 1000,
                    .shuffle_block_size = 50 + random() % 2000},
                   mdstream::shuffle::any(names[random() % 6]));
    mdstream::world w = random_world(random);
    if (std::max(w.nodes, canonical_nodes) % std::min(w.nodes, canonical_nodes) != 0) continue;
    ++walks;
    mdstream::progress run = e.begin_run();
    const auto start = run.begin_epoch(w);
    const auto whole = e.epoch(w, global_batch / w.num_ranks(), start);
    // Up to here all rows are full, and no world repeats anything.
    const std::uint64_t full = e.epoch_size() / canonical_nodes * canonical_nodes / global_batch;
    for (std::uint64_t t = 0; t < full;) {
      const auto state = run.state(t * global_batch, w, true);
      mdstream::progress resumed = e.begin_run();
      resumed.load(state);
      w = random_world(random);
      // Where no partition exists for the new number of nodes and canonical nodes, relaxed finds
      // one.
      const auto order = e.epoch(w, global_batch / w.num_ranks(), resumed.begin_epoch(w));
      const std::uint64_t until = std::min(full, t + 1 + random() % 10);
      for (std::uint64_t k = 0; t < until; ++t, ++k)
        REQUIRE(sorted_batch(order, k) == sorted_batch(whole, t));
      run = resumed;
    }
  }
  CHECK(walks > 10);
}

/// 23 and 25 samples: batches of 12 that six ranks fill by repeating samples are not full for one.
engine two_small_streams(mdstream::batching_method batching) {
  const std::vector<mdstream::stream_shards> streams{{.samples = {20, 3}}, {.samples = {25}}};
  return engine(streams, {.num_canonical_nodes = 1, .shuffle_block_size = 30, .batching = batching},
                mdstream::shuffle::any("py1s"));
}

/// The rest of an epoch, each batch sorted.
std::vector<batch> sorted_batches(const mdstream::epoch_order& order) {
  std::vector<batch> out;
  for (std::uint64_t t = 0; t < order.global_batches(); ++t) {
    out.emplace_back(order.global_batch_size());
    order.ids(t * order.global_batch_size(), out.back());
    std::ranges::sort(out.back());
  }
  return out;
}

TEST_CASE("streams are dealt in every world as in the one that began", "[order]") {
  using enum mdstream::batching_method;
  const auto batching = GENERATE(stratified, per_stream);
  const engine e = two_small_streams(batching);
  const mdstream::world six{.ranks_per_node = 6}, one;
  mdstream::progress run = e.begin_run(), alone = e.begin_run();
  const auto whole = sorted_batches(e.epoch(six, 2, run.begin_epoch(six)));
  REQUIRE(whole.size() == 4);
  // The world in which a run begins matters, as in Python.
  CHECK(e.epoch(one, 12, alone.begin_epoch(one)).global_batches() == 3);

  mdstream::progress second = run;
  const auto next = sorted_batches(e.epoch(six, 2, second.begin_epoch(six)));
  for (const mdstream::world& there :
       {one, six, mdstream::world{.nodes = 2}, mdstream::world{.nodes = 3, .ranks_per_node = 4},
        mdstream::world{.nodes = 6}})
    for (std::uint64_t had = 0; had <= whole.size(); ++had) {
      INFO(there.text() << " after " << had);
      mdstream::progress resumed = e.begin_run();
      resumed.load(run.state(had * 12, six));
      const std::uint64_t size = 12 / there.num_ranks();
      const auto start = resumed.begin_epoch(there);
      CHECK(sorted_batches(e.epoch(there, size, start)) ==
            std::vector(whole.begin() + static_cast<std::ptrdiff_t>(had), whole.end()));
      CHECK(e.left_out(there, size, start) == e.left_out(six, 2, {.num_canonical_nodes = 1}));
      CHECK(sorted_batches(e.epoch(there, size, resumed.begin_epoch(there))) == next);
    }
}

TEST_CASE("ranks that began and do not divide the global batch are refused", "[order]") {
  using enum mdstream::batching_method;
  const engine e = two_small_streams(per_stream);
  for (const std::uint64_t ranks : {0, 5}) {
    const mdstream::epoch_start start{
        .num_canonical_nodes = 1, .initial_physical_nodes = 1, .initial_ranks_per_node = ranks};
    support::expect_error([&] { static_cast<void>(e.epoch({}, 12, start)); },
                          mdstream::errc::invalid_argument, {"12", "cannot be dealt"});
  }
}

TEST_CASE("phases count the batches that their method makes, in every world", "[order]") {
  using enum mdstream::batching_method;
  const auto batching = GENERATE(random, stratified, per_stream, device_per_stream);
  INFO(to_string(batching));
  const std::vector<mdstream::stream_shards> streams{{.samples = {20, 3}}, {.samples = {25}}};
  const std::vector<mdstream::mix_phase> phases{{.weights = {{}, {}}},
                                                {.first_batch = 5, .weights = {{}, {}}}};
  const mdstream::mix_schedule<mdstream::shuffle::any> schedule(
      streams, {.shuffle_block_size = 30, .batching = batching}, phases, 12);
  const std::uint64_t each = batching == random ? 4 : 3;
  CHECK(schedule.engine(0).least_batches(12) == each);
  for (const mdstream::world& w : {mdstream::world{}, mdstream::world{.ranks_per_node = 6},
                                   mdstream::world{.nodes = 2, .ranks_per_node = 3}})
    for (std::uint64_t t = 0; t < 9; ++t) {
      INFO(w.text() << ", batch " << t);
      const auto at = schedule.at(t);
      CHECK(at.phase == (t < 5 ? 0U : 1U));
      CHECK(at.epoch == (t < 5 ? t / each : 2 + (t - 5) / each));
      const auto order = schedule.order(at, w, 12 / w.num_ranks(), {.num_canonical_nodes = 2});
      REQUIRE(order.global_batches() >= at.batches_left);
      batch ids(12 * at.batches_left);
      order.ids(0, ids);
      CHECK(std::ranges::count(ids, -1) == 0);
    }
}

std::vector<mdstream::mix_phase> two_phases() {
  return {
      {.first_batch = 0, .weights = {{.proportion = 1.0}, {.proportion = 0.0}}, .epoch_size = 480},
      {.first_batch = 25,
       .weights = {{.proportion = 0.5}, {.proportion = 0.5}},
       .epoch_size = 1000}};
}

TEST_CASE("a mix schedule changes its mix at the batch that it says", "[order]") {
  const std::vector<mdstream::stream_shards> streams{{.samples = {300, 200}},
                                                     {.samples = {400, 100}}};
  const mdstream::mix_schedule<mdstream::shuffle::any> schedule(streams, {.shuffle = true},
                                                                two_phases(), global_batch);
  const auto read = [&](std::uint64_t t, const mdstream::world& w) {
    return sorted_batch(
        schedule.order(schedule.at(t), w, global_batch / w.num_ranks(), {.num_canonical_nodes = 1}),
        0);
  };
  const auto of_second = [](const batch& ids) {
    return std::count_if(ids.begin(), ids.end(), [](std::int64_t id) { return id >= 500; });
  };
  std::int64_t mixed = 0;
  for (std::uint64_t t = 0; t < 60; ++t) {
    const batch ids = read(t, {});
    CHECK(ids == read(t, {.nodes = 2, .ranks_per_node = 3, .workers_per_rank = 2}));
    if (t < 25) CHECK(of_second(ids) == 0);
    if (t >= 25) mixed += of_second(ids);
  }
  CHECK(mixed > 35 * 48 * 2 / 5);
  CHECK(schedule.at(24).phase == 0);
  CHECK(schedule.at(24).batches_left == 1);
  CHECK(schedule.at(25).phase == 1);
  CHECK(schedule.at(25).epoch == 3);
  CHECK(schedule.at(9).batches_left == 1);
  for (const std::uint64_t t : {0, 9, 10, 24, 25, 59}) {
    INFO("batch " << t);
    const auto at = schedule.at(t);
    const auto whole = schedule.engine(at.phase).epoch({}, global_batch, {.epoch = at.epoch});
    CHECK(read(t, {}) == sorted_batch(whole, at.batch_in_epoch));
    const auto again = schedule.in_epoch(at.epoch, at.batch_in_epoch);
    CHECK(again.phase == at.phase);
    CHECK(again.batches_left == at.batches_left);
    CHECK(schedule.in_epoch(at.epoch, at.batch_in_epoch + at.batches_left).batches_left == 0);
  }
}

TEST_CASE("mix schedules that cannot be are refused", "[order]") {
  const std::vector<mdstream::stream_shards> streams{{.samples = {300}}, {.samples = {400}}};
  const auto refuse = [&](std::vector<mdstream::mix_phase> phases,
                          std::initializer_list<std::string_view> pieces) {
    support::expect_error(
        [&] { mdstream::mix_schedule<mdstream::shuffle::any>(streams, {}, phases, global_batch); },
        mdstream::errc::invalid_argument, pieces);
  };
  refuse({}, {"batch 0"});
  auto phases = two_phases();
  phases[1].first_batch = 0;
  refuse(phases, {"phase 1", "batch 0"});
  phases = two_phases();
  phases[1].weights.pop_back();
  refuse(phases, {"phase 1", "1 weights", "2 streams"});
  phases = two_phases();
  phases[0].epoch_size = 40;
  refuse(phases, {"phase 0", "40", "48"});
}

TEST_CASE("a plan tells what an epoch reads", "[order]") {
  const std::vector<mdstream::stream_shards> streams{
      {.samples = {10, 20}, .weight = {.repeat = 2.0}},
      {.samples = {40, 10}, .weight = {.choose = 25}}};
  const engine e(streams, {.shuffle = true});
  const mdstream::world w{.nodes = 2};
  mdstream::progress run = e.begin_run();
  const auto order = e.epoch(w, 4, run.begin_epoch(w));
  const auto plan = mdstream::detail::plan(order, e.shards(), w, 4,
                                           std::vector<std::uint64_t>{100, 200, 400, 100}, 5);
  // 85 samples on two nodes: one is repeated so that both have 43; the last batch of each is filled
  // up.
  CHECK(plan.padding == 2);
  CHECK(plan.streams[0].samples + plan.streams[1].samples == 86);
  CHECK(plan.streams[0].dropped == 0);
  CHECK(plan.streams[0].repeated >= 30);
  CHECK(plan.streams[1].dropped == 25);
  CHECK(plan.streams[0].shards == 2);
  CHECK(std::accumulate(plan.streams[0].by_window.begin(), plan.streams[0].by_window.end(),
                        std::uint64_t{0}) == plan.streams[0].samples);
  for (const auto& node : plan.nodes) {
    CHECK(node.shards >= 2);
    CHECK(node.bytes <= 800);
  }
  CHECK(plan.nodes[0].bytes + plan.nodes[1].bytes >= 800);
}

}  // namespace resume_test
