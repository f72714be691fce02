#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/raw/detail/object_cutter.hpp>

#include <mdstream/codec/none.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/writer/writer.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "raw/random_sources.hpp"
#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace raw_cuts_test {

using namespace raw_test;
using mdstream::errc;

using policies = mds::policies<mds::store::memory, mds::any_xxhash>;

/// The shard that the writer makes of samples.
std::string written(const raw::detail::row_index& index, const std::vector<std::string>& samples) {
  const mds::store::memory store;
  std::vector<mds::column_spec> columns;
  for (const raw::column& each : index.options.columns)
    columns.push_back({each.name, each.encoding});
  mds::writer<policies> out({.out = store, .columns = columns, .hashes = {}, .size_limit = 0});
  for (const std::string& each : samples) out.write_raw(mds::as_bytes(each));
  out.finish();
  return std::string(mds::as_text(mds::read_all(store, "shard.00000.mds")));
}

}  // namespace raw_cuts_test

TEST_CASE("cuts of any size, fed in any windows, make the same rows", "[raw]") {
  using namespace raw_cuts_test;
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (random_source& each : random_sources(random)) {
    INFO(each.about.format << ' ' << each.about.unit);
    each.about.shard_bytes = std::uint64_t{1} << 40;
    const raw::source_format whole = format_of(each.about);
    const raw::detail::row_index one = index_of(whole, each.objects);
    const std::vector<std::string> rows = rows_of(whole, one, each.objects);
    CHECK(rows.size() == each.rows);
    for (int round = 0; round < 3; ++round) {
      each.about.shard_bytes = 16 + random() % (round == 0 ? 100 : 2000);
      INFO("shard_bytes " << each.about.shard_bytes.value);
      const raw::source_format format = format_of(each.about);
      const raw::detail::row_index index = index_of(format, each.objects);
      REQUIRE(index_of(format, each.objects, 1 + random() % 300) == index);
      REQUIRE(rows_of(format, index, each.objects) == rows);
      REQUIRE(raw::detail::row_index::parse(index.dump()) == index);
      for (const raw::detail::indexed_object& object : index.objects)
        for (const raw::cut& cut : object.cuts)
          CHECK((!cut.crc32c ||
                 *cut.crc32c == mds::detail::crc32c(mds::as_bytes(each.objects.at(object.file.key))
                                                        .subspan(cut.offset, cut.bytes))));
    }
  }
}

TEST_CASE("stretches that are cut apart make the cuts of the whole", "[raw]") {
  using namespace raw_cuts_test;
  const unsigned seed = support::test_seed(GENERATE(range(0U, 5U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (random_source& each : random_sources(random)) {
    each.about.shard_bytes = 16 + random() % 300;
    const raw::source_format format = format_of(each.about);
    if (format.get().look_behind() == 0 || each.objects.empty()) continue;
    INFO(each.about.format << ' ' << each.about.unit);
    for (const auto& [key, bytes] : each.objects) {
      std::vector<raw::detail::object_cuts> parts;
      const std::uint64_t size = each.about.shard_bytes.value;
      for (std::uint64_t k = 0; k < raw::detail::stretches(format, bytes.size()); ++k) {
        raw::detail::object_cutter cutter(format, key, bytes.size(), k * size, (k + 1) * size);
        parts.push_back(cut_by(cutter, bytes, 1 + random() % 300));
        CHECK(parts.back().cuts.size() <= 1);
      }
      REQUIRE(raw::detail::join_stretches(parts) ==
              raw::detail::cut_object(format, key, mds::as_bytes(bytes)));
    }
  }
}

TEST_CASE("the shard of a cut is the writer's of the same rows", "[raw]") {
  using namespace raw_cuts_test;
  const unsigned seed = support::test_seed(GENERATE(range(0U, 2U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (random_source& each : random_sources(random)) {
    INFO(each.about.format);
    each.about.shard_bytes = 200;
    const raw::source_format format = format_of(each.about);
    const raw::detail::row_index index = index_of(format, each.objects);
    for (const raw::detail::shard_place& place : index.places()) {
      const raw::detail::transcoded shard = shard_of(format, index, each.objects, place);
      REQUIRE(std::string(mds::as_text(shard.shard)) == written(index, samples_of(shard)));
    }
  }
}

TEST_CASE("a changed object is not taken for the one that was indexed", "[raw]") {
  using namespace raw_cuts_test;
  const raw::source_format format = format_of({.format = "text"});
  source objects{{"a.txt", "one\ntwo\nthree\n"}};
  const raw::detail::row_index index = index_of(format, objects);
  objects["a.txt"][5] = 'W';
  support::expect_error([&] { (void)rows_of(format, index, objects); }, errc::corrupt,
                        {"a.txt", "changed", "checksum"});
  const raw::detail::listed_object now{"a.txt", 14, "new"};
  support::expect_error([&] { raw::detail::check_unchanged(index.objects[0].file, now); },
                        errc::corrupt, {"a.txt", "tag-14", "\"new\""});
}

TEST_CASE("a row above the limit is named by object and byte", "[raw]") {
  using namespace raw_cuts_test;
  const raw::source_format format = format_of({.format = "text", .max_row_bytes = 10});
  support::expect_error([&] { (void)index_of(format, {{"a.txt", "short\nbeyond the limit\n"}}); },
                        errc::unsupported, {"a.txt", "byte 6", "max_row_bytes"});
  const std::string endless(3 << 20, 'x');
  support::expect_error([&] { (void)index_of(format, {{"a.txt", "short\n" + endless}}); },
                        errc::unsupported, {"a.txt", "byte 6", "max_row_bytes"});
}

namespace raw_cuts_test {

/// The example of format.hpp.
struct records {
  static constexpr std::string_view name = "records";
  std::uint64_t cut(const raw::window& in, raw::cut_sink& out) {
    std::uint64_t at = 0;
    while (in.bytes.size() >= at + 4) {
      const std::uint64_t size = 4 + mds::load<std::uint32_t>(in.bytes.data() + at);
      if (!out.sample(in.offset + at, in.offset + at + size)) break;
      at += size;
    }
    return at;
  }
  void transcode(const raw::cut_source& in, raw::detail::sample_sink& out) const {
    for (mds::bytes_view rest = in.bytes(); !rest.empty();) {
      const std::size_t size = 4 + mds::load<std::uint32_t>(rest.data());
      out.row(in.at(rest), [&] { out.add({{"record", rest.subspan(4, size - 4)}}); });
      rest = rest.subspan(size);
    }
  }
};

}  // namespace raw_cuts_test

TEST_CASE("a format of one's own is two functions", "[raw]") {
  using namespace raw_cuts_test;
  std::string object;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t size = i % 7;
    object.append(reinterpret_cast<const char*>(&size), 4)
        .append(size, static_cast<char>('a' + i % 26));
  }
  using formats = raw::any_format<raw::jsonl, records>;
  raw::options about{.format = "records", .columns = {{"record", "bytes"}}, .shard_bytes = 50};
  const raw::source_format format = formats::open(about);
  const raw::detail::row_index index = index_of(format, {{"x", object}}, 9);
  CHECK(index == index_of(format, {{"x", object}}));
  CHECK(index.samples() == 100);
  CHECK(index.shards() == (object.size() + 49) / 50);
  const auto texts = texts_of(index, rows_of(format, index, {{"x", object}}), "record");
  CHECK(texts[5] == "fffff");
  // an object that ends within a record; a format that the program does not name; no columns
  support::expect_error([&] { (void)index_of(format, {{"x", object + "\x05"}}); }, errc::corrupt,
                        {"ends within a sample", "x", "byte 696"});
  about.format = "csv";
  support::expect_error([&] { (void)formats::open(about); }, errc::unsupported,
                        {"csv", "jsonl, records"});
  about = {.format = "records"};
  support::expect_error([&] { (void)index_of(formats::open(about), {{"x", object}}); },
                        errc::invalid_argument, {"records", "name them"});
}
