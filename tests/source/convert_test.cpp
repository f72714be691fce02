// A stream of foreign files is the stream of the dataset that they convert to: the same samples in
// the same order, in every world, killed and moved.

#include <mdstream/core/fnv.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/store/memory.hpp>

#include <filesystem>
#include <map>

#include "source/sources.hpp"

using namespace source_test;

namespace convert_test {

struct policies : mds::default_policies {
  using format = mds::raw::plain_formats;
  using codec = mds::any_codec<mds::codec::none, mds::codec::gz, mds::codec::zstd>;
  using collator = mds::collate::none;
};
using loader = mds::loader<policies>;

/// Files, and the dataset that they convert to.
struct both : place {
  scratch dir;

  void convert(const raw::options& about, const std::string& to, unsigned jobs) const {
    raw::detail::row_index made_index =
        raw::build_index(async, decoders, raw_test::format_of(about),
                         raw::list_source(async, about.files), mds::store::memory())
            .index;
    mds::writer_options options{.out = to, .compression = "zstd", .size_limit = 0};
    for (const raw::column& each : made_index.options.columns)
      options.columns.push_back({each.name, each.encoding});
    mds::writer<policies> out(std::move(options));
    mds::detail::for_each_shard(async, decoders, raw_test::format_of(made_index.options),
                                made_index,
                                [&](const raw::detail::transcoded& made) {
                                  const mds::mds_shard_view samples(made.shard, made.samples);
                                  for (std::uint64_t i = 0; i < samples.size(); ++i)
                                    out.write_raw(samples[i]);
                                  out.end_shard();
                                },
                                {.jobs = jobs});
    out.finish();
  }
};

/// What a rank hands out: ids and bytes of each batch.
using handed = std::vector<std::pair<std::vector<std::int64_t>, std::uint64_t>>;

struct run_of {
  mds::stream_options stream{};
  std::string cache{};
  std::uint64_t world = 1;
  mds::byte_size limit{};

  [[nodiscard]] loader open(std::uint64_t rank) const {
    return loader({.streams = {stream},
                   .local = cache,
                   .cache_limit = limit,
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
      loader run = open(rank);
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

TEST_CASE("foreign files have the order and the samples of the dataset that they convert to") {
  std::mt19937 random(support::test_seed());
  for (raw_test::random_source& each : raw_test::random_sources(random)) {
    CAPTURE(each.about.format, each.about.unit);
    each.about.shard_bytes = 16 + random() % 1000;
    const both at;
    at.put(each.objects);
    if (each.rows < 30) continue;  // nothing to go on with
    at.convert(each.about, at.dir / "mds", 1 + static_cast<unsigned>(random() % 4));
    const run_of raw_run{{.remote = at.files.path(), .raw = each.about}, at.dir / "raw-cache"};
    const run_of mds_run{{.remote = at.dir / "mds"}, at.dir / "mds-cache"};
    for (const std::uint64_t world : {1U, 2U, 3U, 6U}) {
      CAPTURE(world);
      run_of a = raw_run, b = mds_run;
      a.world = b.world = world;
      std::string ended, other;
      const auto all = a.go_on(ended, ~std::size_t{0});
      REQUIRE(all == b.go_on(other, ~std::size_t{0}));

      // killed after some batches, it goes on in another world, on a machine with an empty cache
      std::string state, other_state;
      const std::size_t few = 1 + random() % 3;
      REQUIRE(a.go_on(state, few) == b.go_on(other_state, few));
      a.cache = at.dir / ("moved-" + std::to_string(world));
      a.world = b.world = std::array{1U, 2U, 3U, 6U}[random() % 4];
      REQUIRE(a.go_on(state, ~std::size_t{0}) == b.go_on(other_state, ~std::size_t{0}));
    }
  }
}

TEST_CASE("compressed objects convert to what they hold, whatever the jobs") {
  const both at;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += "{\"n\": " + std::to_string(i) + "}\n";
  at.put({{"a.jsonl.gz", packed(lines, ".gz")},
          {"b.jsonl", lines},
          {"c.jsonl.zst", packed(lines, ".zst")}});
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 2000;
  std::vector<std::string> indexes;
  for (const unsigned jobs : {1U, 5U}) {
    const std::string to = at.dir / std::to_string(jobs);
    at.convert(about, to, jobs);
    indexes.push_back(
        std::string(mds::as_text(mds::read_all(mds::store::local(to), "index.json"))));
  }
  CHECK(indexes[0] == indexes[1]);
  const mds::dataset<policies> data({.local = at.dir / "1", .threads = 1});
  REQUIRE(data.size() == 9000);
  for (std::uint64_t i = 0; i < 9000; i += 11)
    CHECK(data[i].get<std::int64_t>("n") == static_cast<std::int64_t>(i % 3000));
  std::atomic<int> taken = 0;
  support::expect_error(
      [&] {
        mds::detail::for_each_shard(at.async, decoders, raw_test::format_of(about),
                                    at.build(about).index,
                                    [&](const raw::detail::transcoded&) {
                                      if (++taken == 3)
                                        throw mds::error(mds::errc::no_space, "the disk is full");
                                    },
                                    {.jobs = 4});
      },
      mds::errc::no_space, {"the disk is full"});
  CHECK(taken == 3);
}

}  // namespace convert_test
