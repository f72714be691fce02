// A stream of Parquet files reads their footers to index them, and row groups when they are needed.
#include <mdstream/mdstream.hpp>
#include <mdstream/source/detail/each_shard.hpp>
#include <mdstream/source/formats.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/metered.hpp>

#include <utility>

#include "parquet/files.hpp"
#include "source/sources.hpp"

namespace parquet_stream_test {

using namespace source_test;
using parquet_test::formats;
using parquet_test::numbers;

struct policies : mds::default_policies {
  using format = formats;
  using collator = mds::collate::none;
};

/// Ids and bytes of the samples that a rank is handed.
std::vector<std::pair<std::int64_t, std::string>> epoch_of(const mds::stream_options& stream,
                                                           const std::string& local,
                                                           std::uint64_t world,
                                                           std::uint64_t rank) {
  mds::loader<policies> loader(
      {.streams = {stream},
       .local = local,
       .global_batch_size = 6,
       .shuffle_block_size = 50,
       .num_canonical_nodes = 1,
       .world = mds::world{.nodes = 1, .ranks_per_node = world, .rank = rank},
       .threads = 1});
  std::vector<std::pair<std::int64_t, std::string>> out;
  for (const auto& batch : loader.epoch())
    for (std::size_t i = 0; i < batch.size(); ++i)
      out.emplace_back(batch.ids()[i], mds::as_text(batch.sample(i).bytes()));
  return out;
}

raw::made_index index_of(const mds::any_async_store& store) {
  return raw::build_index(store, decoders, formats::open({.format = "parquet"}),
                          raw::list_source(store, ""), mds::store::memory());
}

}  // namespace parquet_stream_test

TEST_CASE("an index of Parquet files takes their footers alone", "[parquet]") {
  using namespace parquet_stream_test;
  const place at;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 3; ++i) {
    const std::string file = numbers(i * 40'000, 40'000, 10'000);
    bytes += file.size();
    at.put(std::to_string(i) + ".parquet", file);
  }
  const mds::metered counted(at.async);
  const raw::made_index made = index_of(counted);
  CHECK(made.index.samples() == 120'000);
  CHECK(counted.metrics().bytes_read <= 3 * raw::detail::object_cutter::first_tail_bytes);
  CHECK(bytes > 6 * raw::detail::object_cutter::first_tail_bytes);
  mds::detail::raw_rows rows(formats::open(made.index.options), made.index, at.async, decoders, 1);
  CHECK(number_in(rows, rows.at(41'234).bytes) == 41'234);

  // a file whose footer is larger than what is read first
  const std::string many = numbers(0, 2000, 1);
  const auto footer = mds::load<std::uint32_t>(mds::as_bytes(many).data() + many.size() - 8);
  REQUIRE(footer > raw::detail::object_cutter::first_tail_bytes);
  at.put("many.parquet", many);
  CHECK(index_of(at.async).index.samples() == 122'000);
  std::size_t shown = 0;
  raw::for_each_first_row(at.async, decoders, formats::open({.format = "parquet"}),
                          raw::list_source(at.async, "many*"),
                          [&](const mds::sample_layout&, mds::bytes_view) { return ++shown < 3; });
  CHECK(shown == 3);
  raw::options guessed;
  raw::detail::guess_format(guessed, raw::list_source(at.async, ""));
  CHECK(guessed.format == "parquet");
}

TEST_CASE("a stream of Parquet files is the stream of the dataset that they convert to",
          "[parquet]") {
  using namespace parquet_stream_test;
  const place at;
  at.put("a.parquet", numbers(0, 100, 13));
  at.put("b.parquet", numbers(100, 57, 57));
  raw::options about{.format = "parquet"};
  about.shard_bytes = 300;
  const scratch dir;
  const raw::made_index made = raw::build_index(at.async, decoders, formats::open(about),
                                                raw::list_source(at.async, ""), at.index);
  REQUIRE(made.index.shards() > 4);
  mds::writer_options options{.out = dir / "mds", .size_limit = 0};
  for (const raw::column& each : made.index.options.columns)
    options.columns.push_back({each.name, each.encoding});
  mds::writer<mds::default_policies> out(std::move(options));
  mds::detail::for_each_shard(at.async, decoders, formats::open(made.index.options), made.index,
                              [&](const raw::detail::transcoded& shard) {
                                const mds::mds_shard_view samples(shard.shard, shard.samples);
                                for (std::uint64_t i = 0; i < samples.size(); ++i)
                                  out.write_raw(samples[i]);
                                out.end_shard();
                              });
  out.finish();
  for (const std::uint64_t world : {1U, 2U, 3U})
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      const auto as_files =
          epoch_of({.remote = at.files.path(), .raw = about}, dir / "raw-cache", world, rank);
      CHECK(as_files.size() >= 157 / world);
      CHECK(as_files == epoch_of({.remote = dir / "mds"}, dir / "mds-cache", world, rank));
    }
}
