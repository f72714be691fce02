#include <mdstream/format/detail/row_to_mds.hpp>

#include <mdstream/codec/zstd.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/writer/row_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

// JSONL, CSV, TSV and XSV datasets through cache, dataset and loader.

namespace mds = mdstream;

namespace rows_test {

using scratch_directory::scratch;

using policies = mds::policies<mds::any_codec<mds::codec::none, mds::codec::zstd>>;
using typed =
    policies::with<mds::schema<mds::column<"text", mds::str>, mds::column<"score", double>,
                               mds::column<"count", mds::int_>>>;

std::string text_of(std::int64_t id) { return "text \"" + std::to_string(id) + "\" \xc3\xa9"; }

/// 200 rows in shards of a few hundred bytes.
void write(const std::string& where, mds::shard_format format, const std::string& compression) {
  mds::row_writer<policies> out({.out = where,
                                 .format = format,
                                 .columns = {{"text", "str"}, {"count", "int"}, {"score", "float"}},
                                 .separator = format == mds::shard_format::xsv ? " | " : "",
                                 .compression = compression,
                                 .size_limit = 500});
  for (std::int64_t i = 0; i < 200; ++i)
    out.write({{"text", text_of(i)}, {"count", i - 100}, {"score", 0.25 * static_cast<double>(i)}});
  out.finish();
}

std::set<std::string> files_in(const std::string& directory, const std::string& part) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (const auto name = entry.path().filename().string(); name.find(part) != std::string::npos)
      out.insert(name);
  return out;
}

mds::loader<policies>::options options(const scratch& dir) {
  return {.remote = dir / "data", .local = dir / "cache", .batch_size = 16, .world = mds::world{}};
}

/// Reads an epoch by name; every column says what the id says.
std::size_t read(const mds::loader<policies>::options& given, mds::cache_counters* counters) {
  mds::loader<policies> loader(given);
  std::set<std::int64_t> seen;
  for (const auto& batch : loader.epoch()) {
    const auto texts = batch.ragged<char>("text");
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::int64_t id = batch.ids()[i];
      CHECK(texts[i] == text_of(id));
      CHECK(batch.scalar<std::int64_t>("count")[i] == id - 100);
      CHECK(batch.scalar<double>("score")[i] == 0.25 * static_cast<double>(id));
      seen.insert(id);
    }
  }
  if (counters != nullptr) *counters = loader.counters();
  return seen.size();
}

}  // namespace rows_test

TEST_CASE("rows of every format come as columns, by name and by schema") {
  using namespace rows_test;
  const auto format = GENERATE(mds::shard_format::json, mds::shard_format::csv,
                               mds::shard_format::tsv, mds::shard_format::xsv);
  const std::string compression = GENERATE("", "zstd");
  const scratch dir;
  write(dir / "data", format, compression);
  mds::cache_counters counters;
  CHECK(read(options(dir), &counters) == 200);
  // Both files of each shard, and nothing compressed.
  const auto data = files_in(dir / "cache", ".meta");
  CHECK(counters.shards_fetched == data.size());
  CHECK(data.size() > 5);
  for (const auto& name : data)
    CHECK(std::filesystem::exists(dir / ("cache/" + name.substr(0, name.size() - 5))));
  CHECK(files_in(dir / "cache", ".zstd").empty());

  const mds::dataset<typed> samples({.remote = dir / "data", .local = dir / "cache"});
  const auto sample = samples[123];
  CHECK(sample.get<"text">() == text_of(123));
  CHECK(sample.get<"count">() == 23);
  CHECK(sample.get<double>("score") == 30.75);
  CHECK(mds::as_text(sample.bytes()).ends_with("\n"));
  CHECK(samples.counters().shards_fetched == 0);

  mds::loader<typed> by_schema(
      {.remote = dir / "data", .local = dir / "cache", .batch_size = 16, .world = mds::world{}});
  for (const auto& batch : by_schema.epoch())
    for (std::size_t i = 0; i < batch.size(); ++i)
      CHECK(batch.get<"count">()[i] == batch.ids()[i] - 100);
}

TEST_CASE("numbers in a CSV file that only Python's float knows reach the loader") {
  using namespace rows_test;
  const scratch dir;
  mds::row_writer<policies> out({.out = dir / "data",
                                 .format = mds::shard_format::csv,
                                 .columns = {{"text", "str"}, {"score", "str"}}});
  for (const char* text : {"inf", "-Infinity", "NaN", "1e400", "1e-400", "1_0.5"})
    out.write({{"text", "x"}, {"score", text}});
  out.finish();
  std::ifstream file(dir / "data/index.json");
  std::string index((std::istreambuf_iterator<char>(file)), {});
  file.close();
  index.replace(index.find("\"str\""), 5, "\"float\"");
  std::ofstream(dir / "data/index.json") << index;
  const mds::dataset<> samples({.local = dir / "data"});
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(samples[0].get<double>("score") == infinity);
  CHECK(samples[1].get<double>("score") == -infinity);
  CHECK(std::isnan(samples[2].get<double>("score")));
  CHECK(samples[3].get<double>("score") == infinity);
  CHECK(samples[4].get<double>("score") == 0);
  CHECK(samples[5].get<double>("score") == 10.5);
}

TEST_CASE("under a limit both files of a shard go, and come back") {
  using namespace rows_test;
  const scratch dir;
  write(dir / "data", mds::shard_format::json, "");
  auto given = options(dir);
  given.cache_limit = std::filesystem::file_size(dir / "data/index.json") + 8000;
  given.shuffle_block_size = 40;
  given.batch_size = 4;
  mds::cache_counters counters;
  CHECK(read(given, &counters) == 200);
  CHECK(counters.shards_evicted > 0);
  CHECK(read(given, nullptr) == 200);
  std::uint64_t bytes = 0;
  for (const auto& name : files_in(dir / "cache", "shard."))
    bytes += std::filesystem::file_size(dir / ("cache/" + name));
  CHECK(bytes <= 8000);
  CHECK(2 * files_in(dir / "cache", ".meta").size() == files_in(dir / "cache", "shard.").size());
}

TEST_CASE("a meta file that is missing or damaged is fetched again with its data") {
  using namespace rows_test;
  const scratch dir;
  write(dir / "data", mds::shard_format::csv, "");
  CHECK(read(options(dir), nullptr) == 200);
  const std::string meta = dir / "cache/shard.00002.csv.meta";
  SECTION("missing") { std::filesystem::remove(meta); }
  SECTION("cut short") { std::filesystem::resize_file(meta, 9); }
  SECTION("another number of rows") {
    std::fstream(meta, std::ios::in | std::ios::out | std::ios::binary).put('\x7f');
  }
  SECTION("offsets that run backwards") {
    std::fstream file(meta, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4 + 4 * 2 + 1);
    file.put('\x7f');
  }
  mds::cache_counters counters;
  CHECK(read(options(dir), &counters) == 200);
  CHECK(counters.shards_fetched == 1);
  CHECK(std::filesystem::file_size(meta) ==
        std::filesystem::file_size(dir / "data/shard.00002.csv.meta"));
}

TEST_CASE("a transform gets rows as samples; a row that is no row names sample and column") {
  using namespace rows_test;
  struct shout {
    using output = mds::schema<mds::column<"loud", mds::str>>;
    void operator()(const mds::sample_view<typed::schema>& in, mds::sample_writer<output>& out,
                    mds::sample_generator&) const {
      out.write(std::string(in.get<"text">()) + "!");
    }
  };
  using shouting = typed::with<shout>;
  const scratch dir;
  write(dir / "data", mds::shard_format::json, "");
  mds::loader<shouting> loader(
      {.local = dir / "data", .batch_size = 10, .shuffle = false, .world = mds::world{}});
  for (const auto& batch : loader.epoch())
    CHECK(batch.get<"loud">()[0] == text_of(batch.ids()[0]) + "!");

  std::fstream file(dir / "data/shard.00000.json", std::ios::in | std::ios::out | std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  file.clear();
  file.seekp(static_cast<std::streamoff>(text.find("\"count\"")));
  file.write("\"cOunt\"", 7);
  file.close();
  auto damaged = options(dir);
  damaged.remote.clear();
  damaged.local = dir / "data";
  support::expect_error([&] { read(damaged, nullptr); }, mds::errc::corrupt,
                        {"can not read sample 0", "column \"count\"", "shard 0"});
  const mds::dataset<> samples({.local = dir / "data"});
  support::expect_error([&] { (void)samples[0]; }, mds::errc::corrupt, {"count", "sample 0"});
  CHECK(samples[1].get<std::int64_t>("count") == -99);
}
