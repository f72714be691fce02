#include <mdstream/core/detail/hex.hpp>
#include <mdstream/format/index.hpp>

#include <mdstream/format/detail/shard_template.hpp>

#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace index_test {

using nlohmann::json;

json shard(unsigned number = 0) {
  return json::parse(R"({"column_encodings": ["int", "str"], "column_names": ["id", "text"],
    "column_sizes": [8, null], "compression": null, "format": "mds", "hashes": [],
    "raw_data": {"basename": "shard.)" +
                     std::string(5 - std::to_string(number).size(), '0') + std::to_string(number) +
                     R"(.mds", "bytes": 673, "hashes": {}}, "samples": 4, "size_limit": 700,
    "version": 2, "zip_data": null})");
}

std::string index_of(const std::vector<json>& shards) {
  return json{{"version", 2}, {"shards", shards}}.dump();
}

/// The index of one shard, changed by `change`.
template <class F>
std::string changed(F change) {
  json one = shard();
  change(one);
  return index_of({one});
}

void expect_corrupt(const std::string& text, std::initializer_list<std::string_view> pieces) {
  INFO(text.substr(0, 400));
  support::expect_error([&] { (void)mdstream::dataset_index::parse(text); },
                        mdstream::errc::corrupt, pieces);
}

void check_file(const mdstream::file_info& got, const format_golden::ordered_json& expected) {
  CHECK(got.name == expected.at("basename").get<std::string>());
  CHECK(got.bytes == expected.at("bytes").get<std::uint64_t>());
  REQUIRE(got.hashes.size() == expected.at("hashes").size());
  for (const auto& [name, hex] : expected.at("hashes").items()) {
    REQUIRE(got.hash(name) != nullptr);
    CHECK(*got.hash(name) == hex.get<std::string>());
  }
}

}  // namespace index_test

TEST_CASE("golden indexes are read in full", "[index]") {
  std::size_t shards = 0;
  for (const std::string& name : format_golden::dataset_names()) {
    for (const char* part : {"", "train/", "val/", "0/", "1/", "10/", "2/"}) {
      const std::string path =
          format_golden::root() + "mds/" + name + "/data/" + part + "index.json";
      if (!std::filesystem::exists(path)) continue;
      INFO(path);
      const std::string text = format_golden::read_text(path);
      const auto expected = format_golden::ordered_json::parse(text);
      const auto index = mdstream::dataset_index::parse(text, {.allow_unsafe_types = true});
      REQUIRE(index.shards() == expected.at("shards").size());
      std::uint64_t samples = 0;
      for (std::size_t i = 0; i < index.shards(); ++i) {
        const auto& entry = expected.at("shards")[i];
        samples += entry.at("samples").get<std::uint64_t>();
        CHECK(index.shard_samples(i) == entry.at("samples").get<std::uint64_t>());
        CHECK(std::string(to_string(index.format(i))) == entry.at("format").get<std::string>());
        CHECK(
            index.compression(i) ==
            (entry.at("compression").is_null() ? "" : entry.at("compression").get<std::string>()));
        CHECK(index.config(i).hashes == entry.at("hashes").get<std::vector<std::string>>());
        using role = mdstream::file_role;
        for (const role each : {role::raw_data, role::zip_data, role::raw_meta, role::zip_meta}) {
          const std::string key(to_string(each));
          const bool present = entry.contains(key) && !entry.at(key).is_null();
          REQUIRE(index.file(i, each).has_value() == present);
          CHECK(index.file_bytes(i, each) ==
                (present ? entry.at(key).at("bytes").get<std::uint64_t>() : 0));
          if (present) index_test::check_file(*index.file(i, each), entry.at(key));
        }
        index_test::check_file(index.raw(i), entry.at("raw_data"));
        if (entry.contains("column_names"))
          for (std::size_t c = 0; c < index.layout(i).size(); ++c) {
            CHECK(index.layout(i)[c].name == entry.at("column_names")[c].get<std::string>());
            CHECK(index.layout(i)[c].encoding_text ==
                  entry.at("column_encodings")[c].get<std::string>());
          }
        ++shards;
      }
      CHECK(index.samples() == samples);
      CHECK(index.configs().size() <= 4);
    }
  }
  CHECK(shards > 150);
}

TEST_CASE("an index that is cut short is refused wherever it is cut", "[index]") {
  for (const char* name : {"text_multi", "csv_multi_gz", "all_hashes"}) {
    const std::string text =
        format_golden::read_text(format_golden::root() + "mds/" + name + "/data/index.json");
    for (std::size_t size = 0; size < text.size(); size += 1 + text.size() / 500) {
      const auto failure = support::error_of(
          [&] { (void)mdstream::dataset_index::parse(std::string_view(text).substr(0, size)); });
      INFO(size);
      REQUIRE(failure.has_value());
      REQUIRE(failure->code() == mdstream::errc::corrupt);
      REQUIRE(failure->where().byte.has_value());
      REQUIRE(*failure->where().byte <= size);
    }
  }
}

TEST_CASE("what an index has to have", "[index]") {
  using namespace index_test;
  using mdstream::errc;
  const auto parse = [](const std::string& text) {
    return [text] { (void)mdstream::dataset_index::parse(text); };
  };
  expect_corrupt("{}", {"\"version\""});
  expect_corrupt("{\"version\": 2}", {"\"shards\""});
  expect_corrupt("[]", {"an object"});
  support::expect_error(parse("{\"version\": 3, \"shards\": []}"), errc::unsupported,
                        {"version 3"});
  support::expect_error(parse(changed([](json& s) { s["version"] = 1; })), errc::unsupported,
                        {"version is 1", "shard 0"});
  support::expect_error(parse(changed([](json& s) { s["format"] = "parquet"; })), errc::unsupported,
                        {"parquet", "shard 0", "byte"});
  for (const char* none : {"", "ndarray:bool", "ndarray:uint8:0"})
    support::expect_error(parse(changed([&](json& s) { s["column_encodings"][0] = none; })),
                          errc::unsupported, {"\"id\"", "encoding"});
  for (const char* key : {"column_encodings", "column_names", "column_sizes", "compression",
                          "format", "hashes", "raw_data", "samples", "version"}) {
    INFO(key);
    expect_corrupt(changed([&](json& s) { s.erase(key); }), {key, "missing", "shard 0"});
  }
  for (const char* key : {"basename", "bytes"})
    expect_corrupt(changed([&](json& s) { s["raw_data"].erase(key); }), {key, "missing"});
  expect_corrupt(changed([](json& s) { s["column_names"].push_back("x"); }), {"differ in length"});
  expect_corrupt(changed([](json& s) { s["column_names"] = {"id", "id"}; }), {"twice"});
  expect_corrupt(changed([](json& s) {
                   s["column_names"] = s["column_encodings"] = s["column_sizes"] = json::array();
                 }),
                 {"no columns"});
  expect_corrupt(changed([](json& s) { s["samples"] = -1; }), {"byte"});
  expect_corrupt(changed([](json& s) { s["samples"] = 1.5; }), {"byte"});
  expect_corrupt(changed([](json& s) { s["samples"] = 5'000'000'000; }), {"5000000000"});
  expect_corrupt(changed([](json& s) { s["samples"] = 200; }), {"too few", "200 samples"});
  expect_corrupt(changed([](json& s) { s["raw_data"]["bytes"] = 5'000'000'000; }), {"4 GiB"});
  expect_corrupt(changed([](json& s) { s["size_limit"] = -5; }), {"size_limit"});
  expect_corrupt(changed([](json& s) { s["zip_data"] = s["raw_data"]; }), {"compression"});
  expect_corrupt(changed([](json& s) { s["raw_data"]["hashes"] = {{"md5", "00"}}; }), {"md5"});
  expect_corrupt(changed([](json& s) { s["raw_data"]["hashes"] = {{"xxh32", "0000000g"}}; }),
                 {"xxh32"});
  json rows = format_golden::read_json(format_golden::root() + "mds/tsv/data/index.json");
  rows["shards"][0].erase("raw_meta");
  expect_corrupt(rows.dump(), {"\"raw_meta\" is missing", "shard 0"});
}

TEST_CASE("names that leave the directory are refused", "[index]") {
  using namespace index_test;
  for (const char* name : {"../shard.00000.mds", "/etc/passwd", "a/../../b", "", ".mdstream/lock"})
    expect_corrupt(changed([&](json& s) { s["raw_data"]["basename"] = name; }),
                   {"file name", "shard 0", "byte"});
  expect_corrupt(changed([&](json& s) {
                   s["compression"] = "zstd";
                   s["zip_data"] = s["raw_data"];
                   s["zip_data"]["basename"] = "x/../../y";
                 }),
                 {"leaves its directory"});
}

TEST_CASE("what an index may have", "[index]") {
  using namespace index_test;
  const auto parse = [](const std::string& text) { return mdstream::dataset_index::parse(text); };
  CHECK(parse("{\"shards\": [], \"version\": 2}").shards() == 0);
  CHECK(parse("{\"more\": {\"x\": [1]}, \"shards\": [], \"version\": 2}").shards() == 0);
  CHECK_NOTHROW(parse(changed([](json& s) { s["compression"] = ""; })));
  CHECK_NOTHROW(parse(changed([](json& s) { s["zip_data"] = json::object(); })));
  CHECK_NOTHROW(parse(changed([](json& s) { s["size_limit"] = "64mb"; })));
  CHECK_NOTHROW(parse(changed([](json& s) { s["new_key"] = {{"x", {1, 2}}}; })));
  CHECK_NOTHROW(parse(changed([](json& s) { s["raw_data"]["hashes"] = {{"unheard_of", "zz"}}; })));
  const auto upper =
      parse(changed([](json& s) { s["raw_data"]["hashes"] = {{"xxh32", "DEADBEEF"}}; }));
  CHECK(*upper.raw(0).hash("xxh32") == "deadbeef");
  const auto largest = [](std::uint64_t bytes) {
    return changed([bytes](json& s) { s["raw_data"]["bytes"] = bytes; });
  };
  CHECK(parse(largest(0xffff'ffff)).raw(0).bytes == 0xffff'ffff);
  expect_corrupt(largest(0x1'0000'0000), {"4294967296", "4 GiB"});
}

TEST_CASE("encodings that MDS does not define are read as bytes", "[index]") {
  using mdstream::encoding_kind;
  const auto layout_of = [](const char* encoding, const nlohmann::json& size) {
    const auto index = mdstream::dataset_index::parse(index_test::changed([&](nlohmann::json& s) {
      s["column_encodings"][0] = encoding;
      s["column_sizes"][0] = size;
    }));
    return index.layout(0);
  };
  const auto fixed = layout_of("bool", 1);
  CHECK(fixed[0].type.kind == encoding_kind::other);
  CHECK(fixed[0].size == 1);
  CHECK(fixed[0].encoding_text == "bool");
  CHECK(fixed.describe() == "id: bool, text: str");
  CHECK(layout_of("list[tiff]", nullptr)[0].size == std::nullopt);
  CHECK(layout_of("bool", 4294967295)[0].size == 4294967295);
  index_test::expect_corrupt(index_test::changed([](nlohmann::json& s) {
                               s["column_encodings"][0] = "bool";
                               s["column_sizes"][0] = 4294967296;
                             }),
                             {"4294967296 bytes"});
}

TEST_CASE("pickles have to be allowed", "[index]") {
  const std::string text =
      index_test::changed([](nlohmann::json& s) { s["column_encodings"][1] = "pkl"; });
  support::expect_error([&] { (void)mdstream::dataset_index::parse(text); },
                        mdstream::errc::unsupported, {"\"text\"", "unsafe", "shard 0"});
  CHECK_NOTHROW(mdstream::dataset_index::parse(text, {.allow_unsafe_types = true}));
}

TEST_CASE("errors say which stream and URL the index is of", "[index]") {
  support::expect_error(
      [] {
        (void)mdstream::dataset_index::parse(
            "{\"version\": 2, \"shards\": [{}]}",
            {.where = {.stream = "c4", .url = "s3://corpus/c4/index.json"}});
      },
      mdstream::errc::corrupt, {"stream \"c4\"", "s3://corpus/c4/index.json", "shard 0"});
}

TEST_CASE("any names and any mix of shards come back", "[index]") {
  using namespace index_test;
  std::vector<json> shards;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, const std::string& compression = "") {
    json one = shard();
    one["raw_data"]["basename"] = name;
    one["samples"] = names.size();
    one["raw_data"]["bytes"] = 1000 + names.size();
    if (!compression.empty()) {
      one["compression"] = compression;
      one["hashes"] = {"xxh32"};
      one["zip_data"] = {{"basename", name + ".zstd"},
                         {"bytes", names.size()},
                         {"hashes", {{"xxh32", "0000000" + std::to_string(names.size() % 10)}}}};
    }
    shards.push_back(one);
    names.push_back(name);
  };
  for (int i = 0; i < 3; ++i) add("shard.0000" + std::to_string(i) + ".mds");
  for (int i = 0; i < 3; ++i) add("1/shard.0000" + std::to_string(i) + ".mds", "zstd:7");
  add("shard.00009.mds");
  add("shard.00008.mds");
  add("anything at all");
  add("shard.1.mds");
  add("shard.000001.mds");
  add("shard.100000.mds");
  add("shard.99999999999999999999.mds");
  add("other.mds", "zstd");
  add("shard.00003.mds", "zstd");
  const auto index = mdstream::dataset_index::parse(index_of(shards));
  REQUIRE(index.shards() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    INFO(i);
    CHECK(index.raw(i).name == names[i]);
    CHECK(index.raw(i).bytes == 1000 + i);
    CHECK(index.shard_samples(i) == i);
    REQUIRE(index.zip(i).has_value() == !shards[i]["zip_data"].is_null());
    if (index.zip(i)) {
      CHECK(index.zip(i)->name == names[i] + ".zstd");
      CHECK(*index.zip(i)->hash("xxh32") == "0000000" + std::to_string(i % 10));
    }
  }
}

TEST_CASE("a large index of usual names takes few bytes a shard", "[index]") {
  std::string text = "{\"shards\": [";
  constexpr std::size_t shards = 20'000;
  for (std::size_t i = 0; i < shards; ++i) {
    if (i > 0) text += ", ";
    const std::string name = mdstream::shard_file_name(i, mdstream::shard_format::mds, false, "");
    text +=
        R"({"column_encodings": ["int"], "column_names": ["id"], "column_sizes": [8], )"
        R"("compression": "zstd", "format": "mds", "hashes": ["xxh64"], "raw_data": {"basename": ")" +
        name + R"(", "bytes": )" + std::to_string(1'000'000 + i) +
        R"(, "hashes": {"xxh64": "0123456789abcdef"}}, "samples": 1000, "size_limit": 67108864, )"
        R"("version": 2, "zip_data": {"basename": ")" +
        name + R"(.zstd", "bytes": )" + std::to_string(500'000 + i) +
        R"(, "hashes": {"xxh64": "fedcba9876543210"}}})";
  }
  text += "], \"version\": 2}";
  const auto index = mdstream::dataset_index::parse(text);
  CHECK(index.samples() == 1000 * shards);
  CHECK(index.memory() <= 64 * shards);
  CHECK(index.zip(shards - 1)->name == "shard.19999.mds.zstd");
  CHECK(*index.zip(17)->hash("xxh64") == "fedcba9876543210");
  CHECK(index.file_bytes(17, mdstream::file_role::zip_data) == 500'017);
}

TEST_CASE("an entry is taken without parsing where only numbers and digests differ", "[index]") {
  using mdstream::detail::shard_template;
  using kind = shard_template::kind;
  constexpr auto raw = mdstream::file_role::raw_data;
  shard_template learned;
  const auto learn = [&](const std::string& whole, std::size_t begin) {
    learned.clear();
    for (const auto& [what, text] : {std::pair(kind::shard_number, "00009"),
                                     {kind::bytes, "673"},
                                     {kind::digest, "abcd"},
                                     {kind::samples, "41"}}) {
      const std::size_t at = whole.find(text);
      learned.add_hole(what, raw, at, at + std::string_view(text).size());
    }
    learned.complete(whole, begin, whole.size());
  };
  learn("[{\"name\": 00009, \"bytes\": 673, \"digest\": \"abcd\", \"samples\": 41}", 1);
  learned.spoil();
  learn("[{..}, {\"00009\", 673, \"abcd\", 41}", 7);

  const std::string entry = "{\"00010\", 70000, \"00Ff\", 5}";
  const auto match = [&](const std::string& text, shard_template::values& found,
                         std::vector<std::byte>& digests) {
    return learned.match(text, "00010", found, digests);
  };
  shard_template::values found;
  std::vector<std::byte> digests{std::byte{1}};
  CHECK(match(entry + ", {}", found, digests) == entry.size());
  CHECK(found.samples == 5);
  CHECK(found.bytes[static_cast<std::size_t>(raw)] == 70000);
  CHECK(digests == std::vector{std::byte{1}, std::byte{0}, std::byte{0xff}});
  for (const char* const other :
       {"", "{\"00011\", 70000, \"00ff\", 5}", "{\"00010\", 070, \"00ff\", 5}",
        "{\"00010\", -7, \"00ff\", 5}", "{\"00010\", 7, \"00fg\", 5}", "{\"00010\", 7, \"00ff\", 5",
        "{\"00010\", 7, \"00ff\", 5 }", "{\"00010\", 1000000000000000000, \"00ff\", 5}"}) {
    INFO(other);
    CHECK(match(other, found, digests) == 0);
    CHECK(digests.size() == 3);
  }
}

TEST_CASE("entries like the one before are read as carefully as the first", "[index]") {
  // Entries that are written alike are compared with the one before, entries that are spaced
  // differently are parsed: both have to find the same, whatever the entries say.
  using namespace index_test;
  const unsigned seed = support::test_seed(GENERATE(range(0U, 20U)));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const bool zip = random() % 2 == 0;
  std::vector<json> shards;
  for (unsigned i = 0; i < 30; ++i) {
    json one = shard();
    one["samples"] = random() % 100;
    one["raw_data"]["basename"] =
        mdstream::shard_file_name(i + 99'980, mdstream::shard_format::mds, false, "");
    one["raw_data"]["hashes"] = {
        {"xxh32", mdstream::detail::to_hex(
                      mdstream::as_bytes("\x01\x02\x03" + std::string(1, static_cast<char>(i))))}};
    if (zip) {
      one["compression"] = "zstd";
      one["zip_data"] = one["raw_data"];
      one["zip_data"]["basename"] = one["raw_data"]["basename"].get<std::string>() + ".zstd";
      one["zip_data"]["bytes"] = random() % 1000;
    }
    switch (random() % 25) {
      case 0: one["samples"] = 5'000'000'000; break;
      case 1: one["samples"] = "7"; break;
      case 2: one["samples"] = 1.5; break;
      case 3: one["raw_data"]["bytes"] = 1; break;
      case 4: one["raw_data"]["bytes"] = -5; break;
      case 5: one["raw_data"]["basename"] = "shard.00003.mds"; break;
      case 6: one["raw_data"]["basename"] = "../shard.00003.mds"; break;
      case 7: one["raw_data"]["hashes"]["xxh32"] = "0102030g"; break;
      case 8: one["raw_data"]["hashes"] = json::object(); break;
      case 9: one["format"] = "csv"; break;
      case 10: one["zip_data"] = nullptr; break;
      case 11: one["extra"] = i; break;
      default: break;
    }
    shards.push_back(one);
  }
  std::string spaced = "{\"version\": 2, \"shards\": [";
  for (std::size_t i = 0; i < shards.size(); ++i)
    spaced += (i > 0 ? "," : "") + shards[i].dump(static_cast<int>(i % 2 + 1));
  spaced += "]}";
  std::optional<mdstream::dataset_index> alike_index, spaced_index;
  const auto alike_failure =
      support::error_of([&] { alike_index = mdstream::dataset_index::parse(index_of(shards)); });
  const auto spaced_failure =
      support::error_of([&] { spaced_index = mdstream::dataset_index::parse(spaced); });
  REQUIRE(alike_failure.has_value() == spaced_failure.has_value());
  if (alike_failure) {
    CHECK(alike_failure->where().shard == spaced_failure->where().shard);
    CHECK(alike_failure->where().what == spaced_failure->where().what);
    return;
  }
  REQUIRE(alike_index->shards() == spaced_index->shards());
  CHECK(alike_index->samples() == spaced_index->samples());
  for (std::size_t i = 0; i < alike_index->shards(); ++i) {
    CHECK(alike_index->shard_samples(i) == spaced_index->shard_samples(i));
    CHECK(alike_index->raw(i) == spaced_index->raw(i));
    CHECK(alike_index->zip(i) == spaced_index->zip(i));
    CHECK(alike_index->config(i) == spaced_index->config(i));
  }
}
