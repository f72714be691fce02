// A stream of Parquet files reads their footers to index them, and row groups when they are needed.
#include <mdstream/source/formats.hpp>
#include <mdstream/store/metered.hpp>

#include "parquet/files.hpp"
#include "source/both_ways.hpp"

namespace parquet_stream_test {

using namespace source_test;
using parquet_test::formats;
using parquet_test::numbers;

using policies =
    mds::policies<formats, mds::any_codec<mds::codec::none, mds::codec::zstd>, mds::collate::none>;

raw::made_index index_of(const mds::any_async_store& store) {
  return raw::build_index(store, decoders, formats::open({.format = "parquet"}),
                          raw::list_source(store, ""), mds::store::memory());
}

}  // namespace parquet_stream_test

TEST_CASE("an index of Parquet files takes their footers alone", "[parquet]") {
  using namespace parquet_stream_test;
  const indexed_source at;
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

TEST_CASE("files of different columns are named when they are indexed", "[parquet]") {
  using namespace parquet_stream_test;
  using parquet_test::count_from;
  using parquet_test::file_of;
  const indexed_source at;
  const auto words = parquet_test::texts(3, [](std::int64_t i) { return std::to_string(i); });
  at.put("a.parquet", file_of({{"n", count_from(0, 3)}, {"x", count_from(0, 3)}}, 3));
  const auto failure = [&](raw::options about) {
    about.format = "parquet";
    std::string out;
    try {
      (void)raw::build_index(at.async, decoders, formats::open(about),
                             raw::list_source(at.async, ""), mds::store::memory(), {.jobs = 1});
    } catch (const mds::error& e) {
      out = e.what();
    }
    return out;
  };
  const auto says = [](const std::string& all) { return Catch::Matchers::Contains(all); };

  at.put("b.parquet", file_of({{"n", count_from(0, 3)}}, 3));
  CHECK_THAT(failure({}), says("b.parquet") && says("column \"x\"") && says("which a.parquet has"));
  CHECK_THAT(failure({.columns = {{"x", "int64"}}}), says("b.parquet") && says("column \"x\""));
  CHECK(failure({.null_value = "0"}).empty());
  CHECK(failure({.columns = {{"n", "int64"}}}).empty());

  at.put("b.parquet", file_of({{"n", count_from(0, 3)}, {"x", words}}, 3));
  CHECK_THAT(failure({}), says("b.parquet") && says("column \"x\"") &&
                              says("is str here and int64 in a.parquet"));
  CHECK_THAT(failure({.null_value = "0"}), says("b.parquet") && says("column \"x\""));

  at.put("b.parquet", file_of({{"n", count_from(0, 3)}, {"x", words}, {"y", words}}, 3));
  at.put("a.parquet", file_of({{"n", count_from(0, 3)}, {"x", words}}, 3));
  CHECK_THAT(failure({}), says("b.parquet") && says("column \"y\"") && says("a.parquet has not"));
}

TEST_CASE("of columns that are named only the bytes are fetched", "[parquet]") {
  using namespace parquet_stream_test;
  const indexed_source at;
  const std::uint64_t column = std::uint64_t{12} << 20;
  at.put("a.parquet", parquet_test::wide(column));
  const auto read = [&](raw::options about) {
    about.format = "parquet";
    const raw::source_format format = formats::open(about);
    const raw::made_index made = raw::build_index(
        at.async, decoders, format, raw::list_source(at.async, ""), mds::store::memory());
    const mds::metered counted(at.async);
    mds::detail::raw_rows rows(formats::open(made.index.options), made.index, counted, decoders, 1);
    for (std::uint64_t i = 0; i < rows.size(); i += 100)
      CHECK(number_in(rows, rows.at(i).bytes) == static_cast<std::int64_t>(i));
    return counted.metrics().bytes_read;
  };
  const std::uint64_t all = read({}), some = read({.columns = {{"n", "int64"}, {"last", "int64"}}});
  CHECK(all > column);
  CHECK(some < column / 10);  // `n` and `last` lie on both sides of the large one
}

TEST_CASE("the size of a shard is estimated by the columns that are read", "[parquet]") {
  using namespace parquet_stream_test;
  const indexed_source at;
  at.put("a.parquet", parquet_test::wide(std::uint64_t{12} << 20));
  const raw::made_index made = raw::build_index(
      at.async, decoders,
      formats::open({.format = "parquet", .columns = {{"n", "str_int"}, {"last", "str_int"}}}),
      raw::list_source(at.async, ""), mds::store::memory());
  mds::detail::raw_rows rows(formats::open(made.index.options), made.index, at.async, decoders, 1);
  const std::uint64_t bytes = rows.shard(0).shard.size();
  const std::uint64_t estimated =
      raw::detail::estimated_shard_bytes(rows.layout(), made.index.objects[0].cuts[0], 0);
  CHECK(estimated >= bytes);
  CHECK(estimated < 4 * bytes);
}

TEST_CASE("a stream of Parquet files is the stream of the dataset that they convert to",
          "[parquet]") {
  using namespace parquet_stream_test;
  std::mt19937 random(support::test_seed());
  const indexed_source at;
  raw::options about{.format = "parquet"};
  SECTION("files of many row groups, and of one") {
    at.put("a.parquet", numbers(0, 100, 13));
    at.put("b.parquet", numbers(100, 57, 57));
  }
  SECTION("files of pyarrow, with other pages, encodings and codecs each") {
    for (const char* name : {"pyarrow.parquet", "pyarrow-v1.parquet", "pyarrow-v2.parquet"})
      at.put(name, parquet_test::golden(name));
    // the columns that they have in common
    for (const char* column : {"string=str", "int64=int64", "list=json", "chat=json", "doc=json"})
      about.columns.push_back(raw::parse_column(column));
  }
  for (const std::uint64_t shard_bytes : {16U, 700U}) {
    about.shard_bytes = shard_bytes;
    const scratch dir;
    convert<policies>(at.async, about, dir / "mds");
    check_both_ways<policies>({.remote = at.files.path(), .raw = about}, {.remote = dir / "mds"},
                              dir, random);
  }
}
