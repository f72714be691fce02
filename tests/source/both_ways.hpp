#pragma once

// A stream of foreign files beside the dataset that they convert to: the same samples in the same
// order, in every world, and in another world from a state on, with an empty cache.

#include <mdstream/core/fnv.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/store/memory.hpp>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "source/sources.hpp"

namespace source_test {

/// Writes the dataset that `--cuts keep` would: a shard for each of the stream's.
template <class Policies>
void convert(const mds::any_async_store& files, const raw::options& about, const std::string& to,
             unsigned jobs = 0) {
  const auto open = [](const raw::options& of) { return Policies::format::open(of); };
  const raw::detail::row_index index =
      raw::build_index(files, decoders, open(about), raw::list_source(files, about.files),
                       mds::store::memory())
          .index;
  mds::writer_options options{.out = to, .compression = "zstd", .size_limit = 0};
  for (const raw::column& each : index.options.columns)
    options.columns.push_back({each.name, each.encoding});
  mds::writer<Policies> out(std::move(options));
  mds::detail::for_each_shard(files, decoders, open(index.options), index,
                              [&](const raw::detail::transcoded& made) {
                                const mds::mds_shard_view samples(made.shard, made.samples);
                                for (std::uint64_t i = 0; i < samples.size(); ++i)
                                  out.write_raw(samples[i]);
                                out.end_shard();
                              },
                              {.jobs = jobs});
  out.finish();
}

/// What a rank hands out: ids and bytes of each batch.
using handed = std::vector<std::pair<std::vector<std::int64_t>, std::uint64_t>>;

template <class Policies>
struct run_of {
  mds::stream_options stream{};
  std::string cache{};
  std::uint64_t world = 1;

  [[nodiscard]] mds::loader<Policies> open(std::uint64_t rank) const {
    return mds::loader<Policies>(
        {.streams = {stream},
         .local = cache,
         .global_batch_size = 6,
         .shuffle_block_size = 50,
         .num_canonical_nodes = 1,
         .world = mds::world{.nodes = 1, .ranks_per_node = world, .rank = rank},
         .threads = 1});
  }
  /// Batches of every rank in turn, of one epoch, from a state on; `state` becomes that of the end.
  [[nodiscard]] std::map<std::uint64_t, handed> go_on(std::string& state, std::size_t most) const {
    std::map<std::uint64_t, handed> out;
    const std::string from = state;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      mds::loader<Policies> run = open(rank);
      if (!from.empty()) run.load_state(from);
      std::size_t left = most;
      for (const auto& batch : run.epoch()) {
        mds::fnv1a bytes;
        for (std::size_t i = 0; i < batch.size(); ++i)
          bytes.add(mds::as_text(batch.sample(i).bytes()));
        out[rank].emplace_back(std::vector<std::int64_t>(batch.ids().begin(), batch.ids().end()),
                               bytes.value());
        if (--left == 0) break;
      }
      if (rank == 0) state = run.state();
    }
    return out;
  }
};

/// Checks that files and the dataset that they were converted to are the same to a loader, in
/// worlds of 1, 2, 3 and 6 ranks. `dir` is for caches.
template <class Policies>
void check_both_ways(const mds::stream_options& files, const mds::stream_options& dataset,
                     const scratch& dir, std::mt19937& random) {
  static constexpr std::array worlds{1U, 2U, 3U, 6U};
  const run_of<Policies> files_run{files, dir / "files-cache"};
  const run_of<Policies> dataset_run{dataset, dir / "dataset-cache"};
  for (const std::uint64_t world : worlds) {
    CAPTURE(world);
    run_of<Policies> a = files_run, b = dataset_run;
    a.world = b.world = world;
    std::string ended, other;
    const auto all = a.go_on(ended, ~std::size_t{0});
    REQUIRE(all.size() == world);
    REQUIRE(all == b.go_on(other, ~std::size_t{0}));

    // left after some batches, it goes on from its state in another world, with an empty cache
    std::string state, other_state;
    const std::size_t few = 1 + random() % 3;
    REQUIRE(a.go_on(state, few) == b.go_on(other_state, few));
    a.cache = dir / ("moved-" + std::to_string(world));
    a.world = b.world = worlds[random() % worlds.size()];
    REQUIRE(a.go_on(state, ~std::size_t{0}) == b.go_on(other_state, ~std::size_t{0}));
  }
}

}  // namespace source_test
