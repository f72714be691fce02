// Batching "once": each sample of the dataset has one place in the epoch.

#include <mdstream/order/order_engine.hpp>

#include <mdstream/order/shuffle.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace once_test {

using engine = mdstream::order_engine<mdstream::shuffle::any>;
constexpr std::uint64_t global_batch = 24;

mdstream::world random_world(std::mt19937_64& random) {
  const mdstream::world worlds[] = {{.nodes = 1, .ranks_per_node = 1},
                                    {.nodes = 2, .ranks_per_node = 2},
                                    {.nodes = 3, .ranks_per_node = 1},
                                    {.nodes = 1, .ranks_per_node = 8}};
  mdstream::world out = worlds[random() % std::size(worlds)];
  out.workers_per_rank = 1 + random() % 3;
  return out;
}

std::vector<std::int64_t> ids_of(const mdstream::epoch_order& order) {
  std::vector<std::int64_t> out(order.positions());
  order.ids(0, out);
  return out;
}

TEST_CASE("once: each sample has one place, and padding only fills the last batch", "[order]") {
  std::mt19937_64 random(support::test_seed());
  for (int round = 0; round < 30; ++round) {
    std::vector<mdstream::stream_shards> streams(1 + random() % 3);
    for (auto& s : streams) {
      s.samples.resize(1 + random() % 9);
      for (auto& n : s.samples) n = 1 + random() % 40;
    }
    const char* const names[] = {"py1e", "bijection", "py1br", "py1s", "py2s", "naive"};
    const engine e(streams,
                   {.shuffle = random() % 4 != 0,
                    .shuffle_seed = random() % 1000,
                    .shuffle_block_size = 50 + random() % 200,
                    .batching = mdstream::batching_method::once},
                   mdstream::shuffle::any(names[random() % std::size(names)]));
    const mdstream::world w = random_world(random);
    mdstream::progress run = e.begin_run();
    const auto whole = ids_of(e.epoch(w, global_batch / w.num_ranks(), run.begin_epoch(w)));
    const auto samples = static_cast<std::ptrdiff_t>(e.epoch_size());
    REQUIRE(whole.size() % global_batch == 0);
    REQUIRE(whole.size() < e.epoch_size() + global_batch);
    CHECK(std::all_of(whole.begin() + samples, whole.end(), [](auto id) { return id == -1; }));
    std::vector<std::int64_t> sorted(whole.begin(), whole.begin() + samples), all(sorted.size());
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
    // In another world the rest of the epoch is the rest of it.
    const std::uint64_t had = random() % (whole.size() / global_batch) * global_batch;
    mdstream::progress resumed = e.begin_run();
    resumed.load(run.state(had, w, true));
    const mdstream::world other = random_world(random);
    const auto rest =
        ids_of(e.epoch(other, global_batch / other.num_ranks(), resumed.begin_epoch(other)));
    CHECK(rest ==
          std::vector<std::int64_t>(whole.begin() + static_cast<std::ptrdiff_t>(had), whole.end()));
  }
}

TEST_CASE("once: a mix that would repeat or leave out samples is refused by its stream",
          "[order]") {
  const auto refuse = [](mdstream::stream_weight weight, const char* instead) {
    const std::vector<mdstream::stream_shards> streams{{.samples = {7}},
                                                       {.samples = {4, 6}, .weight = weight}};
    support::expect_error(
        [&] {
          engine(streams, {.batching = mdstream::batching_method::once},
                 mdstream::shuffle::any("py1e"));
        },
        mdstream::errc::invalid_argument, {"10 samples of stream 1", instead});
  };
  refuse({.repeat = 2.0}, "not 20 samples");
  refuse({.choose = 9}, "not 9 samples");
}

}  // namespace once_test
