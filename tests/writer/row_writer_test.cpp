#include <mdstream/writer/row_writer.hpp>

#include <mdstream/codec/none.hpp>
#include <mdstream/codec/zstd.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/hash/xxhash.hpp>
#include <mdstream/store/memory.hpp>

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace row_writer_test {

using mdstream::errc;
using mdstream::shard_format;
using memory = mdstream::store::memory;

using policies =
    mdstream::policies<memory, mdstream::any_codec<mdstream::codec::none, mdstream::codec::zstd>,
                       mdstream::any_xxhash>;

using options = mdstream::row_writer_options;
using writer = mdstream::row_writer<policies>;

std::string text_of(const memory& store, std::string_view key) {
  return std::string(mdstream::as_text(mdstream::read_all(store, key)));
}

}  // namespace row_writer_test

TEST_CASE("rows go into shards below the limit and are read back", "[row_writer]") {
  using namespace row_writer_test;
  const auto format =
      GENERATE(shard_format::json, shard_format::csv, shard_format::tsv, shard_format::xsv);
  const std::string compression = GENERATE("", "zstd");
  const memory store;
  writer out({.out = store,
              .format = format,
              .columns = {{"s", "str"}, {"n", "int"}},
              .newline = "\r\n",
              .separator = format == shard_format::xsv ? " | " : "",
              .compression = compression,
              .hashes = {"xxh64"},
              .size_limit = 200});
  for (int i = 0; i < 50; ++i) out.write({{"n", i}, {"s", "row " + std::to_string(i)}});
  CHECK(out.samples() == 50);
  out.finish();
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  CHECK(index.samples() == 50);
  CHECK(index.shards() >= 3);
  int row = 0;
  const auto codec = policies::codec::open(compression);
  for (std::size_t i = 0; i < index.shards(); ++i) {
    const auto read = [&](mdstream::file_role raw, mdstream::file_role zip) {
      const auto stored = index.file(i, zip) ? *index.file(i, zip) : *index.file(i, raw);
      const std::string bytes = text_of(store, stored.name);
      CHECK(*stored.hash("xxh64") ==
            mdstream::hash_of<mdstream::any_xxhash>("xxh64", mdstream::as_bytes(bytes)));
      std::string out_bytes(index.file_bytes(i, raw), '\0');
      mdstream::diagnostics where;
      REQUIRE_FALSE(codec.decompress(mdstream::as_bytes(bytes),
                                     std::as_writable_bytes(std::span(out_bytes)), where));
      return out_bytes;
    };
    using mdstream::file_role;
    const std::string data = read(file_role::raw_data, file_role::zip_data);
    const std::string meta = read(file_role::raw_meta, file_role::zip_meta);
    CHECK(data.size() <= 200 + 10);
    const mdstream::detail::row_shard_view shard(mdstream::as_bytes(data), mdstream::as_bytes(meta),
                                                 index.shard_samples(i));
    for (std::size_t k = 0; k < shard.size(); ++k, ++row) {
      CHECK(mdstream::read_column(index.config(i), shard[k], "n").as<std::int64_t>() == row);
      CHECK(mdstream::read_column(index.config(i), shard[k], "s").as<std::string_view>() ==
            "row " + std::to_string(row));
    }
  }
  CHECK(row == 50);
}

TEST_CASE("options of rows that can not be right are refused at once", "[row_writer]") {
  using namespace row_writer_test;
  const auto refuse = [](options opts, std::string_view piece) {
    support::expect_error([&] { writer out(std::move(opts)); }, errc::invalid_argument, {piece});
  };
  const std::vector<mdstream::column_spec> x{{"x", "str"}};
  refuse({.out = memory()}, "at least one column");
  refuse({.out = memory(), .columns = {{"x", "bytes"}}}, "\"bytes\"");
  refuse({.out = memory(), .columns = {{"x", "str"}, {"x", "int"}}}, "twice");
  refuse({.out = memory(), .format = shard_format::mds, .columns = x}, "use writer");
  refuse({.out = memory(), .columns = x, .newline = "--"}, "white space");
  refuse({.out = memory(), .columns = x, .separator = ","}, "only xsv");
  refuse({.out = memory(), .format = shard_format::xsv, .columns = x}, "separator");
  refuse({.out = memory(), .format = shard_format::csv, .columns = x, .newline = ","}, "separator");
  refuse({.out = memory(), .format = shard_format::csv, .columns = {{"a,b", "str"}}}, "a,b");
}

TEST_CASE("a row that can not be written leaves the writer usable", "[row_writer]") {
  using namespace row_writer_test;
  const memory store;
  writer out({.out = store, .format = shard_format::csv, .columns = {{"x", "str"}}});
  support::expect_error([&] { out.write({{"x", "a,b"}}); }, errc::invalid_argument,
                        {"column \"x\""});
  out.write({{"x", ""}});
  out.finish();
  CHECK(text_of(store, "shard.00000.csv") == "x\n\n");
  support::expect_error([&] { out.write({{"x", ""}}); }, errc::invalid_argument, {"finished"});
}

TEST_CASE("a first row beyond the limit follows an empty shard, but never an empty compressed file",
          "[row_writer]") {
  using namespace row_writer_test;
  const std::string compression = GENERATE("", "zstd");
  const memory store;
  writer out(
      {.out = store, .columns = {{"x", "str"}}, .compression = compression, .size_limit = 5});
  out.write({{"x", "long enough"}});
  out.write({{"x", "again"}});
  out.finish();
  const auto index = mdstream::dataset_index::parse(text_of(store, "index.json"));
  CHECK(index.samples() == 2);
  CHECK(index.shards() == (compression.empty() ? 3U : 2U));
  CHECK(index.shard_samples(0) == (compression.empty() ? 0U : 1U));
}
