#include <mdstream/order/progress.hpp>

#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/shuffle.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace progress_test {

using golden::json;
using engine = mdstream::order_engine<mdstream::shuffle::any>;
using batch = std::vector<std::int64_t>;

mdstream::resume_point point_of(const json& state) {
  return {.epoch = state["epoch"],
          .sample_in_epoch = state["sample_in_epoch"],
          .num_canonical_nodes = state["num_canonical_nodes"],
          .shuffle_seed = state["shuffle_seed"],
          .initial_physical_nodes = state.contains("initial_physical_nodes")
                                        ? golden::count_of(state["initial_physical_nodes"])
                                        : std::nullopt};
}

/// What StreamingDataset and StreamingDataLoader did in one process, replayed.
class replay {
 public:
  explicit replay(const json& c)
      : workers_(std::max<std::uint64_t>(c["dataloader_workers"].get<std::uint64_t>(), 1)),
        batch_size_(c["kwargs"]["batch_size"]),
        engine_(engine_of(c)),
        run_(engine_.begin_run()) {}

  void step(const json& s) {
    const auto name = s["do"].get<std::string>();
    if (name == "construct") {
      CHECK(engine_.epoch_size() == s["epoch_size"].get<std::uint64_t>());
    } else if (name == "state_dict") {
      check_state(point_of(s["out"]));
    } else if (name == "epoch") {
      check_epoch(s["batches"], s["batches"].size() + 1);
    } else if (name == "partial_epoch") {
      if (s["take"] != 0) check_epoch(s["batches"], s["take"]);
    } else if (name == "construct_and_load") {
      run_ = engine_.begin_run();
      handed_out_ = 0;
      run_.load(point_of(s["state"]));
    } else if (name == "load") {
      run_.load(point_of(s["state"]));
    } else if (name == "note_state_after_2_batches") {
      noted_ = point_of(s["out"]);
    } else {
      FAIL("unknown step " << name);
    }
  }

 private:
  static engine engine_of(const json& c) {
    const json& k = c["kwargs"];
    std::vector<mdstream::stream_shards> streams;
    for (const json& s : c["streams"])
      streams.push_back({.samples = s["shards"].get<std::vector<std::uint64_t>>()});
    return engine(
        streams,
        {.epoch_size = golden::count_of(k.value("epoch_size", json())),
         .sampling = *mdstream::parse_sampling_method(k.value("sampling_method", "balanced")),
         .partition = *mdstream::parse_partition_algo(k.value("partition_algo", "relaxed")),
         .num_canonical_nodes = golden::count_of(k.value("num_canonical_nodes", json())),
         .shuffle = k.value("shuffle", false),
         .shuffle_seed = k.value("shuffle_seed", 9176ULL),
         .shuffle_block_size = golden::count_of(k.value("shuffle_block_size", json())),
         .batching = *mdstream::parse_batching_method(k.value("batching_method", "random"))},
        mdstream::shuffle::any(k.value("shuffle_algo", "py1e")));
  }

  /// The reference does not keep the ranks.
  void check_state(mdstream::resume_point expected) const {
    if (mdstream::detail::deals_streams(engine_.options().batching))
      expected.initial_ranks_per_node = 1;
    CHECK(run_.state(handed_out_, world_) == expected);
  }

  /// Batches as a DataLoader makes them: of each worker's samples, worker after worker.
  std::deque<batch> next_epoch() {
    world_.workers_per_rank = workers_;
    const auto order = engine_.epoch(world_, batch_size_, run_.begin_epoch(world_));
    std::vector<std::deque<batch>> lanes(workers_);
    for (std::uint64_t t = 0; t < order.global_batches(); ++t) {
      batch ids(batch_size_);
      order.ids(t * batch_size_, ids);
      auto& lane = lanes[t % workers_];
      for (const std::int64_t id : ids) {
        if (id < 0) continue;
        if (lane.empty() || lane.back().size() == batch_size_) lane.emplace_back();
        lane.back().push_back(id);
      }
    }
    std::deque<batch> out;
    for (std::size_t w = 0;
         std::any_of(lanes.begin(), lanes.end(), [](auto& l) { return !l.empty(); });
         w = (w + 1) % workers_) {
      if (lanes[w].empty()) continue;
      out.push_back(std::move(lanes[w].front()));
      lanes[w].pop_front();
    }
    return out;
  }

  void check_epoch(const json& expected, std::size_t take) {
    const std::deque<batch> all = next_epoch();
    handed_out_ = 0;
    std::vector<batch> got;
    for (const batch& b : all) {
      if (got.size() == take) break;
      got.push_back(b);
      handed_out_ += b.size();
      if (got.size() == 2 && noted_) {
        check_state(*noted_);
        noted_.reset();
      }
    }
    CHECK(got == expected.get<std::vector<batch>>());
  }

  std::uint64_t workers_;
  std::uint64_t batch_size_;
  engine engine_;
  mdstream::progress run_;
  mdstream::world world_{};
  std::uint64_t handed_out_ = 0;
  std::optional<mdstream::resume_point> noted_{};
};

TEST_CASE("runs count epochs, save and resume as the reference", "[order][golden]") {
  const json file = golden::load("resume");
  for (const json& c : file["cases"]) {
    INFO(c["kwargs"]);
    replay r(c);
    for (const json& s : c["steps"]) r.step(s);
  }
}

TEST_CASE("a state of an earlier epoch is stale", "[order]") {
  const mdstream::order_options defaults;
  mdstream::progress run(defaults);
  const mdstream::world w;
  CHECK(run.begin_epoch(w).epoch == 0);
  run.load({.epoch = 0, .sample_in_epoch = 7, .num_canonical_nodes = 2, .shuffle_seed = 1});
  CHECK(run.loaded_is_stale());
  const auto start = run.begin_epoch(w);
  CHECK(start.epoch == 1);
  CHECK(start.sample_in_epoch == 0);
  CHECK(start.shuffle_seed == 9176);
}

TEST_CASE("a state keeps the ranks to which streams are dealt, wherever it goes", "[order]") {
  using enum mdstream::batching_method;
  const mdstream::world four{.nodes = 2, .ranks_per_node = 2}, three{.ranks_per_node = 3}, one;
  for (const auto batching : {random, stratified, per_stream, device_per_stream, once}) {
    INFO(to_string(batching));
    const bool keeps = batching == stratified || batching == per_stream;
    const auto ranks = [keeps](std::uint64_t n) { return keeps ? std::optional(n) : std::nullopt; };
    const mdstream::order_options options{.num_canonical_nodes = 2, .batching = batching};
    mdstream::progress run(options);
    CHECK(run.state(0, four).initial_ranks_per_node == ranks(2));
    CHECK(run.begin_epoch(four).initial_ranks_per_node == std::nullopt);  // the world at hand
    auto state = run.state(12, four);
    CHECK(state.initial_ranks_per_node == ranks(2));
    for (const mdstream::world& next : {three, one, four}) {
      mdstream::progress resumed(options);
      resumed.load(state);
      CHECK(resumed.state(0, next) == state);
      const auto start = resumed.begin_epoch(next);
      CHECK(start.initial_ranks_per_node == ranks(2));
      CHECK(start.initial_physical_nodes == 2);
      state = resumed.state(12, next);
      CHECK(state.initial_ranks_per_node == ranks(2));
      CHECK(state.initial_physical_nodes == 2);
    }
    // Python's say nothing of ranks: from the first world on they are the same in all.
    for (const auto& [nodes, kept] : {std::pair(4, 4), std::pair(3, 2)}) {
      state.initial_ranks_per_node.reset();
      state.initial_physical_nodes = 2;
      mdstream::progress moved(options);
      moved.load(state);
      const mdstream::world run_world{.nodes = static_cast<std::uint64_t>(nodes),
                                      .ranks_per_node = 5};
      const auto start = moved.begin_epoch(run_world);
      CHECK(start.initial_ranks_per_node == ranks(5));
      CHECK(start.initial_physical_nodes == (keeps ? kept : 2));
      CHECK(moved.state(12, run_world).initial_ranks_per_node == ranks(5));
      CHECK(moved.begin_epoch(run_world).initial_ranks_per_node == ranks(5));
    }
  }
}

TEST_CASE("a state of a finished epoch begins the next one", "[order]") {
  const mdstream::order_options defaults;
  for (const bool finished : {false, true}) {
    mdstream::progress run(defaults);
    run.load({.epoch = 4, .sample_in_epoch = 7, .num_canonical_nodes = 2, .shuffle_seed = 1},
             finished);
    const auto start = run.begin_epoch({});
    CHECK(start.epoch == (finished ? 5 : 4));
    CHECK(start.sample_in_epoch == (finished ? 0 : 7));
    CHECK(start.shuffle_seed == 1);
    CHECK(run.begin_epoch({}).epoch == start.epoch + 1);
  }
}

TEST_CASE("epochs beyond all counting are refused", "[order]") {
  const mdstream::order_options defaults;
  mdstream::progress run(defaults);
  for (const bool finished : {false, true}) {
    run.load({.epoch = std::numeric_limits<std::int64_t>::max(), .num_canonical_nodes = 1},
             finished);
    support::expect_error([&] { run.begin_epoch({}); }, mdstream::errc::invalid_argument);
  }
}

}  // namespace progress_test
