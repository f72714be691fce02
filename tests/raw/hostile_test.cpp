// Bytes, listings and indexes that mean harm, or that were cut short.
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/raw/detail/index_builder.hpp>
#include <mdstream/raw/detail/keys.hpp>
#include <mdstream/raw/formats.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "raw/random_sources.hpp"
#include "raw/raw_source.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace raw_hostile_test {

using namespace raw_test;
using mdstream::errc;

std::vector<std::string> read(const raw::options& about, const source& objects) {
  const raw::source_format format = format_of(about);
  return rows_of(format, index_of(format, objects), objects);
}

void refuse(const raw::options& about, const source& objects, errc code,
            std::initializer_list<std::string_view> pieces) {
  support::expect_error([&] { (void)read(about, objects); }, code, pieces);
}

/// Megatron's index of documents of one sequence of one token each.
std::string index_of_tokens(std::uint64_t documents) {
  std::string out("MMIDIDX\0\0", 9);
  const auto put = [&](auto value) {
    out.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(std::uint64_t{1});
  put(std::uint8_t{8});
  put(documents);
  put(documents + 1);
  for (std::uint64_t i = 0; i < documents; ++i) put(std::int32_t{1});
  for (std::uint64_t i = 0; i < documents; ++i) put(static_cast<std::int64_t>(2 * i));
  for (std::uint64_t i = 0; i <= documents; ++i) put(static_cast<std::int64_t>(i));
  return out;
}

}  // namespace raw_hostile_test

TEST_CASE("a bad row that is left out changes no other", "[raw]") {
  using namespace raw_hostile_test;
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const std::vector<std::string> json{R"({"meta": {"a": 1, "b": {"c": "x"}}})",
                                      R"({"meta": {"b": {"c": "y"}, "a": 2}, "more": []})",
                                      R"({"more": [1], "meta": {"a": 3, "b": {"c": ""}}})"};
  const std::vector<std::string> bad_json{R"({"meta": {"a": "no integer", "b": {"c": "x"}}})",
                                          R"({"meta": {"a": 1, "b": {"c": 5}}})",
                                          R"({"meta": {"a": 1, "b": {"c": "x"}})", "7", "{"};
  const std::vector<std::string> csv{"1,x", "2,\"y\n\"", "3,"};
  const std::vector<std::string> bad_csv{"no integer,x", "1", "1,2,3", "1,a\"b"};
  for (int round = 0; round < 50; ++round) {
    const auto check = [&](raw::options about, const std::string& head,
                           const std::vector<std::string>& good,
                           const std::vector<std::string>& bad) {
      std::string all = head, kept = head;
      for (auto n = 1 + random() % 30; n > 0; --n) {
        const bool is_bad = random() % 4 == 0;
        const std::string row = (is_bad ? bad[random() % bad.size()] : good[random() % 3]) + '\n';
        all += row;
        if (!is_bad) kept += row;
      }
      about.skip_bad = true;
      const auto rows = read(about, {{"x", all}});
      about.skip_bad = false;
      CHECK(rows == read(about, {{"x", kept}}));
    };
    check({.format = "jsonl",
           .columns = {{"m", "json", "/meta"},
                       {"b", "json", "/meta/b"},
                       {"c", "str", "/meta/b/c"},
                       {"a", "int", "/meta/a"}}},
          "", json, bad_json);
    check({.format = "csv", .columns = {{"n", "int"}, {"t", "str"}}}, "n,t\n", csv, bad_csv);
  }
  // the byte of an error is the object's, however deep the value lies
  refuse({.format = "jsonl", .columns = {{"m", "json", "/m"}, {"a", "int", "/m/a"}}},
         {{"x", "{\"m\": {\"a\": 1}}\n{\"m\": {\"a\": \"\"}}\n"}}, errc::corrupt,
         {"column \"a\"", "sample 1", "x", "byte 28"});
}

TEST_CASE("windows that are too short are asked for again, or refused by object and byte",
          "[raw]") {
  using namespace raw_hostile_test;
  const std::string text = "one\ntwo\n\nthree\nfour\n\n\nfive and more\nsix\n";
  for (const char* unit : {"line", "paragraph", ""}) {
    raw::options about{.format = *unit == '\0' ? "jsonl" : "text", .shard_bytes = 16};
    if (*unit != '\0') about.unit = unit;
    const raw::source_format format = format_of(about);
    const std::uint64_t behind = format.get().look_behind();
    const auto bytes = mds::as_bytes(text).subspan(16 - behind);
    raw::detail::object_cutter whole(format, "a/b", text.size(), 16, 32);
    whole.feed(bytes, true);
    const raw::detail::object_cuts expected = whole.finish();
    for (std::size_t few = 1; few < behind + 4; ++few) {
      INFO(about.format << ' ' << unit << ", " << few << " bytes");
      raw::detail::object_cutter cutter(format, "a/b", text.size(), 16, 32);
      cutter.feed(bytes.first(few), false);
      if (cutter.next()) {
        CHECK(cutter.next()->offset <= 16 - behind + few);
        cutter.feed(mds::as_bytes(text).subspan(cutter.next()->offset), true);
      }
      CHECK(cutter.finish() == expected);
    }
    for (std::size_t few = 0; few < behind; ++few) {
      raw::detail::object_cutter cutter(format, "a/b", text.size(), 16, 32);
      support::expect_error([&] { cutter.feed(bytes.first(few), true); }, errc::corrupt,
                            {"a/b", "byte " + std::to_string(16 - behind + few), "shorter"});
    }
    // neither bytes nor the end: a cutter does not ask for ever
    raw::detail::object_cutter cutter(format, "a/b", text.size(), 0, 16);
    support::expect_error([&] { cutter.feed({}, false); }, errc::corrupt, {"a/b", "byte 0"});
    raw::detail::object_cutter again(format, "a/b", text.size(), 0, 16);
    again.feed(mds::as_bytes(text).first(2), false);
    support::expect_error([&] { again.feed(mds::as_bytes(text).first(2), false); }, errc::corrupt,
                          {"a/b", "byte 2", "no more bytes"});
  }
}

TEST_CASE("a shard's range that is shorter than its cut is refused", "[raw]") {
  using namespace raw_hostile_test;
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  for (const random_source& each : random_sources(random)) {
    INFO(each.about.format);
    const raw::source_format format = format_of(each.about);
    const raw::detail::row_index index = index_of(format, each.objects);
    for (const raw::detail::shard_place& place : index.places()) {
      const raw::detail::indexed_object& object = index.objects[place.object];
      raw::cut cut = object.cuts[place.cut];
      if (cut.bytes == 0) continue;
      cut.crc32c.reset();
      std::vector<raw::part> parts;
      for (const raw::detail::part_range& range : raw::detail::parts_of(format, index, place)) {
        const auto& from = index.objects[range.object];
        parts.push_back(
            {"x/y", range.range.offset,
             mds::as_bytes(each.objects.at(range.beside ? from.beside->key : from.file.key))
                 .subspan(range.range.offset, range.range.bytes)});
      }
      parts[0].bytes = parts[0].bytes.first(random() % parts[0].bytes.size());
      support::expect_error(
          [&] {
            (void)raw::detail::transcode(format, index.options.columns, cut,
                                         {.parts = parts, .note = object.note, .extra = cut.extra});
          },
          errc::corrupt, {"x/y", "byte " + std::to_string(parts[0].offset)});
    }
  }
}

TEST_CASE("JSON that is cut off is not taken for a whole value", "[raw]") {
  using namespace raw_hostile_test;
  const raw::options tar{.format = "webdataset"};
  CHECK(read(tar, {{"1", tar_member("a.json", "{\"t\": [1, 2]}\n")}}).size() == 1);
  for (const char* cut :
       {"{\"t\": [1, 2]", "{\"t\": [1, 2", "{\"t\"", "{", "", "\"\xFF\"", "{} {}"}) {
    INFO(cut);
    refuse(tar, {{"1", tar_member("a.json", cut)}}, errc::corrupt,
           {"column \"json\"", "sample 0", "(", "1", "byte 0"});
    refuse({.format = "files", .columns = {{"file", "json"}}}, {{"a.json", cut + std::string(" ")}},
           errc::corrupt, {"a.json", "column \"file\""});
  }
  const raw::options csv{.format = "csv", .columns = {{"j", "json"}}};
  CHECK(read(csv, {{"1", "j\n\"{\"\"a\"\": 1}\"\n[]\n"}}).size() == 2);
  refuse(csv, {{"1", "j\n\"{\"\"a\"\": 1\"\n"}}, errc::corrupt, {"column \"j\"", "byte 2"});
  const raw::options lines{.format = "text", .columns = {{"j", "json"}}};
  CHECK(read(lines, {{"1", "{}\n[]"}}).size() == 2);
  refuse(lines, {{"1", "{}\n{\"a\": "}}, errc::corrupt, {"column \"j\"", "sample 1", "byte 3"});
  // so what stands for null
  refuse({.format = "jsonl", .columns = {{"t", "int"}}, .null_value = "1 2"}, {{"1", "{}\n"}},
         errc::invalid_argument, {"stands for null", "column \"t\""});
}

// As cheap for each byte as others: were one of them quadratic, it would not end.
TEST_CASE("bytes that are made to be slow are not", "[raw]") {
  using namespace raw_hostile_test;
  std::string header = "first";
  for (int i = 0; i < 300'000; ++i) header += ",f" + std::to_string(i);
  refuse({.format = "csv"}, {{"1", header + ",f299999\n"}}, errc::corrupt, {"\"f299999\" twice"});
  refuse({.format = "csv"}, {{"1", header + "\n"}}, errc::unsupported, {"1000"});

  std::string archive;
  for (int i = 0; i < 60'000; ++i) archive += tar_member("a.f" + std::to_string(i), "");
  const raw::options named{.format = "webdataset", .columns = {{"f59999", "bytes"}}};
  CHECK(read(named, {{"1", archive}}).size() == 1);
  refuse(named, {{"1", archive + tar_member("a.f0", "")}}, errc::corrupt, {"\"f0\" twice"});

  const raw::source_format lines = format_of({.format = "text", .shard_bytes = 16});
  const std::string many(8 << 20, '\n');
  std::string rows = many;
  for (std::size_t i = 0; i < rows.size(); i += 8) rows[i] = 'x';
  raw::detail::object_cutter cutter(lines, "1", rows.size());
  cutter.feed(mds::as_bytes(rows), true);
  const raw::detail::object_cuts found = cutter.finish();
  REQUIRE(found.cuts.size() == rows.size() / 16);
  CHECK(found.cuts[7].crc32c == mds::detail::crc32c(mds::as_bytes(rows).subspan(7 * 16, 10)));

  std::string open = "a,b\n1,\"";
  for (int i = 0; i < 3'000'000; ++i) open += "\"\"\n";
  refuse({.format = "csv", .columns = {{"a", "str"}}}, {{"1", open}}, errc::corrupt,
         {"not closed", "byte 4"});
  std::string keys = "{\"c999\": 1";
  for (int i = 0; i < 300'000; ++i) keys += ",\"d" + std::to_string(i) + "\":1";
  raw::options wide{.format = "jsonl", .null_value = "0"};
  for (int i = 0; i < 1000; ++i) wide.columns.push_back({"c" + std::to_string(i), "int8"});
  CHECK(read(wide, {{"1", keys + "}"}})[0] == std::string(999 + 1, '\0').replace(999, 1, "\1"));

  std::string nested;
  for (int i = 0; i < 200'000; ++i) nested += "{a,";
  support::expect_error([&] { (void)raw::detail::expand_braces(nested); }, errc::invalid_argument,
                        {"600000 bytes"});
  for (const std::uint64_t huge : {std::uint64_t{1} << 63, ~std::uint64_t{0}})
    for (const bool stride : {true, false})
      support::expect_error(
          [&] {
            (void)format_of({.format = "tokens",
                             .window = stride ? 1 : huge,
                             .stride = stride ? huge : 1,
                             .dtype = "uint16"});
          },
          errc::invalid_argument, {"too long"});
}

TEST_CASE("an index is read as it was made, or was refused before", "[raw]") {
  using namespace raw_hostile_test;
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  static const std::vector<std::string> pieces{
      "a",          "b",  "/",    "//",       "..",  ".",
      "index.json", "_",  "\xFF", "\xC3\xA9", " ",   std::string(1, '\0'),
      "\\",         "\"", "\n",   ".idx",     ".bin"};
  const auto weird = [&] {
    std::string out;
    for (auto n = 1 + random() % 5; n > 0; --n) out += pieces[random() % pieces.size()];
    return out;
  };
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  std::size_t made = 0, refused = 0;
  for (int round = 0; round < 60; ++round) {
    for (random_source& each : random_sources(random)) {
      each.about.shard_bytes = random() % 4 == 0 ? largest : 16 + random() % 200;
      if (random() % 4 == 0) each.about.max_row_bytes = largest;
      source objects;
      for (const auto& [key, bytes] : each.objects)
        objects[random() % 3 == 0 ? weird() : key] =
            bytes.substr(0, random() % 6 == 0 ? random() % 3 : bytes.size());
      std::vector<raw::detail::listed_object> listing = listing_of(objects);
      if (random() % 8 == 0 && !listing.empty()) listing.push_back(listing.front());
      if (random() % 8 == 0 && !listing.empty()) listing.front().tag = weird();
      if (random() % 4 == 0) each.about.skip_bad = true;
      try {
        const raw::detail::row_index index =
            index_of(format_of(each.about), objects, 1 << 20, listing);
        REQUIRE_NOTHROW(raw::detail::row_index::parse(index.dump()) == index);
        CHECK(raw::detail::row_index::parse(index.dump()) == index);
        ++made;
      } catch (const mds::error& e) {
        CHECK_FALSE(e.where().what.empty());
        ++refused;
      }
    }
  }
  CHECK(made > 50);
  CHECK(refused > 50);
}

TEST_CASE("what an index could not name is refused by the builder", "[raw]") {
  using namespace raw_hostile_test;
  const raw::options about{.format = "text"};
  CHECK(read(about, {{"a/index.json", "x"}, {"index.json", "y"}}).size() == 2);
  for (const auto& [key, why] : {std::pair{"a//b", "empty part"},
                                 {"/a", "absolute"},
                                 {"a\xFF", "not UTF-8"},
                                 {"a//index.json", "empty part"}}) {
    INFO(key);
    refuse(about, {{"a", "x"}, {key, "y"}}, errc::corrupt, {key, why});
    raw::options skipping = about;
    skipping.skip_bad = true;
    CHECK(read(skipping, {{"a", "x"}, {key, "y"}}).size() == 1);
  }
  const auto build = [](const std::vector<raw::detail::listed_object>& listing) {
    (void)raw::detail::index_builder(format_of({.format = "text"}), listing);
  };
  support::expect_error([&] { build({{"a", 1, "t"}, {"a", 2, "u"}}); }, errc::corrupt,
                        {"twice", "a"});
  support::expect_error([&] { build({{"a", 1, "\xFF"}}); }, errc::corrupt, {"tag", "a"});
  for (raw::options bad : {raw::options{.format = "csv", .delimiter = "\xA7"},
                           raw::options{.format = "text", .files = "\xFF"},
                           raw::options{.format = "text", .columns = {{"\xFF", "str"}}},
                           raw::options{.format = "text", .null_value = "\"\xFF\""}})
    support::expect_error([&] { (void)format_of(bad); }, errc::invalid_argument);
  refuse({.format = "webdataset"}, {{"1", tar_member("a.\xFF", "x")}}, errc::corrupt,
         {"not UTF-8", "1", "byte 0"});

  // more samples than a shard of MDS counts
  raw::options bytes{.format = "tokens", .shard_bytes = std::uint64_t{1} << 40};
  bytes.window = 1;
  bytes.dtype = "uint8";
  const std::uint64_t size = (std::uint64_t{1} << 32) + 1;
  raw::detail::object_cutter cutter(format_of(bytes), "a.bin", size);
  const std::string some(2048, 'x');
  support::expect_error([&] { cutter.feed(mds::as_bytes(some), false); }, errc::unsupported,
                        {"a.bin", "4294967295 samples", "shard_bytes"});
}

TEST_CASE("Megatron's index may be larger than a row, and is read in any windows", "[raw]") {
  using namespace raw_hostile_test;
  constexpr std::uint64_t documents = 120'000;
  const std::string index = index_of_tokens(documents);
  raw::options about{.format = "tokens", .shard_bytes = 10'000, .max_row_bytes = 100};
  const source objects{{"a.bin", std::string(2 * documents, 'x')}, {"a.idx", index}};
  const raw::source_format format = format_of(about);
  const raw::detail::row_index found = index_of(format, objects);
  CHECK(found.samples() == documents);
  CHECK(found.shards() == 2 * documents / 10'000);
  CHECK(index_of(format, objects, 1111) == found);
  CHECK(rows_of(format, found, objects).size() == documents);
  // what is wrong is named by its byte, in whatever window it lies
  const std::uint64_t pointers = 34 + 4 * documents, bounds = pointers + 8 * documents;
  const auto changed = [&](std::uint64_t at, auto value) {
    source out = objects;
    out["a.idx"].replace(static_cast<std::size_t>(at), sizeof value,
                         reinterpret_cast<const char*>(&value), sizeof value);
    return out;
  };
  const auto wrong = [&](const source& damaged, std::initializer_list<std::string_view> pieces) {
    support::expect_error([&] { (void)index_of(format, damaged, 5000); }, errc::corrupt, pieces);
  };
  wrong(changed(34 + 4 * 100'000, std::int32_t{-1}), {"a.idx", "byte 400034", "length -1"});
  wrong(changed(pointers + 8 * 70'000, std::int64_t{7}),
        {"a.idx", "byte " + std::to_string(pointers + 560'000), "sequence 70000"});
  wrong(changed(bounds + 8 * 70'000, std::int64_t{7}),
        {"a.idx", "byte " + std::to_string(bounds + 560'000), "bound 70000"});
  wrong(changed(18, documents + 1), {"a.idx", "byte"});
  source cut = objects;
  cut["a.idx"].resize(index.size() - 1);
  wrong(cut, {"a.idx", "cut short", "byte " + std::to_string(index.size() - 1)});
}
