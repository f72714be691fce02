#include <mdstream/collate/none.hpp>
#include <mdstream/format/pickle.hpp>
#include <mdstream/mdstream.hpp>
#include <mdstream/writer/row_writer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/plain_dataset.hpp"
#include "support/point.hpp"

// Streams of different columns in one mix, encodings of one's own, pickles.

namespace mds = mdstream;

namespace columns_test {

using scratch_directory::scratch;
using support::point;
using ids_list = std::vector<std::int64_t>;

template <class... Columns>
using of = mds::policies<mds::schema<Columns...>>;
template <mds::fixed_string Name, class Type>
using col = mds::column<Name, Type>;

using wanted = of<col<"text", mds::str>, col<"id", mds::int_>>;
using of_a = of<col<"id", mds::int_>, col<"a", mds::ndarray<float, 4>>, col<"text", mds::str>>;
using of_b = of<col<"id", mds::int_>, col<"text", mds::str>, col<"note", mds::json_text>>;
using of_c = of<col<"id", mds::int_>, col<"where", point>>;

std::string text_of(std::int64_t id) { return "text " + std::to_string(id * id); }

/// Three streams of 40 samples: "a" and "b" have further columns, "c" is JSONL; `same`: only the
/// columns that are wanted, so that what is read of the others can be held against it.
void write_streams(const std::string& where, bool same) {
  const std::vector<float> floats(4, 0.5F);
  const auto number = [](int i) { return std::int64_t{i}; };
  if (same) {
    for (const char* name : {"a", "b", "c"}) {
      const std::string path = where + "/" + name;
      mds::writer<wanted> out({.out = path});
      const int first = name[0] == 'a' ? 0 : name[0] == 'b' ? 40 : 80;
      for (int i = 0; i < 40; ++i) {
        out.write(text_of(first + i), number(first + i));
        if (i % 10 == 9 && name[0] != 'c') out.end_shard();
      }
      out.finish();
    }
    return;
  }
  mds::writer<of_a> a({.out = where + "/a"});
  mds::writer<of_b> b({.out = where + "/b"});
  mds::row_writer<> c({.out = where + "/c",
                       .format = mds::shard_format::json,
                       .columns = {{"text", "str"}, {"score", "float"}, {"id", "int"}}});
  for (int i = 0; i < 40; ++i) {
    a.write(number(i), floats, text_of(i));
    const std::string note = "{\"n\": " + std::to_string(i) + "}";
    b.write(number(40 + i), text_of(40 + i), std::string_view(note));
    c.write({{"text", text_of(80 + i)}, {"score", 0.5}, {"id", number(80 + i)}});
    if (i % 10 != 9) continue;
    a.end_shard();
    b.end_shard();
  }
  a.finish();
  b.finish();
  c.finish();
}

mds::loader_options mix(const std::string& where, mds::world world = {}) {
  return {.streams = {{.remote = where + "/a", .local = where + "/cache/a"},
                      {.remote = where + "/b", .local = where + "/cache/b"},
                      {.remote = where + "/c", .local = where + "/cache/c"}},
          .global_batch_size = 16,
          .num_canonical_nodes = 2,
          .world = world,
          .validate_hash = "none",
          .warn = [](const std::string&) {}};
}

/// The samples of an epoch in order; each says what its id says.
template <class Policies>
std::vector<ids_list> read(const mds::loader_options& given) {
  mds::loader<Policies> loader(given);
  std::vector<ids_list> out;
  for (const auto& batch : loader.epoch()) {
    const auto ids = batch.template scalar<std::int64_t>("id").values();
    const auto texts = batch.template ragged<char>("text");
    CHECK(std::ranges::equal(ids, batch.ids()));
    for (std::size_t i = 0; i < batch.size(); ++i) CHECK(texts[i] == text_of(ids[i]));
    out.emplace_back(ids.begin(), ids.end());
  }
  return out;
}

/// Bytes of the files below a directory whose names begin so, without those of the cache.
std::uint64_t bytes_of(const std::string& where, const std::string& name) {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(where))
    if (entry.is_regular_file() && entry.path().filename().string().starts_with(name) &&
        entry.path().string().find("/cache/") == std::string::npos)
      bytes += entry.file_size();
  return bytes;
}

/// Rewrites a text in the index of a dataset.
void change_index(const std::string& dataset, const std::string& from, const std::string& to) {
  std::ifstream file(dataset + "/index.json");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  file.close();
  std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  std::ofstream(dataset + "/index.json") << text;
}

struct number_of_letters {
  using output = mds::schema<col<"letters", mds::int_>>;
  template <class Sample>
  void operator()(const Sample& in, mds::sample_writer<output>& out, mds::sample_generator&) const {
    out.write(static_cast<std::int64_t>(in.template get<std::string_view>("text").size()));
  }
};
using lettered = mds::policies<number_of_letters>;

}  // namespace columns_test

TEST_CASE("a schema picks its columns from streams that have others, in the same order") {
  using namespace columns_test;
  const scratch same, dir;
  write_streams(same.path(), true);
  write_streams(dir.path(), false);
  const auto expected = read<wanted>(mix(same.path()));
  REQUIRE(expected.size() == 8);
  auto given = mix(dir.path());
  std::vector<std::string> warnings;
  given.warn = [&](const std::string& text) { warnings.push_back(text); };
  CHECK(read<wanted>(given) == expected);
  REQUIRE(warnings.size() == 1);
  INFO(warnings.front());
  CHECK(warnings.front().find("/a\": a: ndarray:float32:4") != std::string::npos);
  CHECK(warnings.front().find("/b\": note: json") != std::string::npos);
  CHECK(warnings.front().find("/c\": score: float") != std::string::npos);
  // Rows beside samples that are used as they are stored.
  auto rows = mix(same.path());
  rows.streams[2] = {.remote = dir / "c", .local = dir / "cache/c"};
  CHECK(read<wanted>(rows) == expected);
  CHECK(read<mds::policies<>>(rows) == expected);
  // Without a schema: the columns that all have.
  warnings.clear();
  CHECK(read<mds::policies<>>(given) == expected);
  REQUIRE(warnings.size() == 1);
  const mds::loader<> loader(given);
  CHECK(loader.layout().describe() == "id: int, text: str");

  SECTION("on any world") {
    std::vector<std::vector<ids_list>> ranks;
    for (std::uint64_t rank = 0; rank < 4; ++rank)
      ranks.push_back(
          read<wanted>(mix(dir.path(), {.nodes = 2, .ranks_per_node = 2, .rank = rank})));
    for (std::size_t batch = 0; batch + 1 < expected.size(); ++batch) {
      ids_list all;
      for (const auto& rank : ranks) all.insert(all.end(), rank[batch].begin(), rank[batch].end());
      ids_list one = expected[batch];
      std::ranges::sort(all);
      std::ranges::sort(one);
      CHECK(all == one);
    }
  }
  SECTION("a saved state goes on, also where the columns are others") {
    mds::loader<wanted> first(mix(same.path()));
    auto epoch = first.epoch();
    mds::loader<wanted>::batch_type batch;
    for (int i = 0; i < 3; ++i) REQUIRE(epoch.next(batch));
    mds::loader<> second(given);
    second.load_state(first.state());
    std::size_t at = 3;
    for (const auto& each : second.epoch()) CHECK(std::ranges::equal(each.ids(), expected[at++]));
    CHECK(at == expected.size());
  }
  SECTION("a transform gets what is offered, a limit of the cache changes nothing") {
    given.cache_limit = 2000 + bytes_of(dir.path(), "index.json") + bytes_of(dir / "c", "shard");
    mds::loader<lettered> letters(given);
    std::size_t at = 0;
    for (const auto& each : letters.epoch()) {
      REQUIRE(std::ranges::equal(each.ids(), expected[at++]));
      for (std::size_t i = 0; i < each.size(); ++i)
        CHECK(static_cast<std::size_t>(each.get<"letters">().values()[i]) ==
              text_of(each.ids()[i]).size());
    }
    CHECK(at == expected.size());
    CHECK(read<wanted>(given) == expected);
  }
}

TEST_CASE("samples of a dataset have the schema's columns, or those of their stream") {
  using namespace columns_test;
  const scratch dir;
  write_streams(dir.path(), false);
  mds::dataset_options given{.streams = mix(dir.path()).streams, .warn = [](const std::string&) {}};
  SECTION("whole shards") {}
  SECTION("single samples") { given.range_request_cost = 1; }
  const mds::dataset<wanted> picked(given);
  const mds::dataset<> all(given);
  REQUIRE(picked.size() == 120);
  CHECK(picked.layout().describe() == "id: int, text: str");
  for (const std::uint64_t i : {0U, 7U, 39U, 40U, 79U, 80U, 119U}) {
    const auto one = picked[i];
    CHECK(one.get<"id">() == static_cast<std::int64_t>(i));
    CHECK(one.get<"text">() == text_of(static_cast<std::int64_t>(i)));
    const auto other = all[i];
    CHECK(std::ranges::equal(one.bytes(), other.bytes()));  // as they lie in the shard
    CHECK(other.get<std::int64_t>("id") == static_cast<std::int64_t>(i));
    CHECK(other.layout().size() == 3);
  }
  CHECK(all[40].get<std::string_view>("note") == "{\"n\": 0}");
  CHECK(all[0].layout().find("a").has_value());
}

TEST_CASE("streams that lack a column of the schema, or share none, are refused") {
  using namespace columns_test;
  const scratch dir;
  write_streams(dir.path(), false);
  using more = of<col<"id", mds::int_>, col<"note", mds::json_text>>;
  support::expect_error([&] { mds::loader<more> loader(mix(dir.path())); },
                        mds::errc::schema_mismatch,
                        {"column \"note\"", "/a", "none of this name", "index.json"});
  using other = of<col<"id", std::int32_t>>;
  support::expect_error([&] { mds::dataset<other> data({.local = dir / "a"}); },
                        mds::errc::schema_mismatch, {"column \"id\"", "another encoding", "int32"});
  // A column of another encoding is not one that all have.
  support::write_plain_dataset(dir / "ids", {4});
  change_index(dir / "ids", R"(["int"])", R"(["uint64"])");
  mds::loader_options given{.streams = {{.local = dir / "a"}, {.local = dir / "ids"}},
                            .batch_size = 4,
                            .world = mds::world{}};
  support::expect_error([&] { mds::loader<> loader(given); }, mds::errc::schema_mismatch,
                        {"no column is in all", "a: ndarray", "id: uint64", "/ids"});
  // The first stream alone has it all.
  given.streams.pop_back();
  std::size_t warnings = 0;
  given.warn = [&](const std::string&) { ++warnings; };
  CHECK(mds::loader<>(given).layout().size() == 3);
  CHECK(warnings == 0);
}

TEST_CASE("a damaged sample of a stream whose columns are picked is named") {
  using namespace columns_test;
  const scratch dir;
  write_streams(dir.path(), false);
  {  // the size of the first text of stream "a", which has two columns of fixed size before it
    std::fstream file(dir / "a/shard.00000.mds", std::ios::in | std::ios::out | std::ios::binary);
    std::array<char, 8> head{};
    file.read(head.data(), 8);
    file.seekp(mds::load<std::uint32_t>(reinterpret_cast<const std::byte*>(head.data()) + 4));
    file.put('\x7f');
  }
  const auto fails = [&](auto& loader) {
    support::expect_error(
        [&] {
          for (auto& batch : loader.epoch()) static_cast<void>(batch);
        },
        mds::errc::corrupt, {"shard 0", "sample 0", "/a"});
  };
  mds::loader<wanted> by_schema(mix(dir.path()));
  fails(by_schema);
  mds::loader<> common(mix(dir.path()));  // no hash, which would be wrong first
  fails(common);
  const mds::dataset<wanted> samples({.local = dir / "a", .warn = [](const std::string&) {}});
  support::expect_error([&] { (void)samples[0]; }, mds::errc::corrupt, {"sample 0", "shard 0"});
  CHECK(samples[1].get<"id">() == 1);
}

TEST_CASE("columns of an encoding that MDS does not define are bytes, or what the program says") {
  using namespace columns_test;
  const scratch dir;
  mds::writer<of_c> out({.out = dir / "points"});
  for (int i = 0; i < 32; ++i) out.write(i, point::view{static_cast<float>(i), -1});
  out.finish();
  const mds::loader_options given{.local = dir / "points", .batch_size = 8, .world = mds::world{}};
  const auto x_of = [](const std::byte* at) { return mds::load<float>(at); };

  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& text) { warnings.push_back(text); };
  const mds::dataset<> by_name({.local = dir / "points", .warn = warn});
  REQUIRE(warnings.size() == 1);
  INFO(warnings.front());
  CHECK(warnings.front().find("where: point") != std::string::npos);
  CHECK(warnings.front().find("/points\"") != std::string::npos);
  CHECK(by_name.layout().describe() == "id: int, where: point");
  CHECK(by_name[5].get<point>("where")[0] == 5);
  CHECK(by_name[5].get<mds::bytes_view>("where").size() == 8);
  warnings.clear();
  const mds::dataset<of_c> typed({.local = dir / "points", .warn = warn});
  CHECK(warnings.empty());  // the program knows it
  CHECK(typed[31].get<"where">() == point::view{31, -1});

  mds::loader<> any(given);
  for (const auto& batch : any.epoch()) {
    const auto where = batch.dense<std::byte>("where");
    REQUIRE(where.values().size() == 8 * batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i)
      CHECK(x_of(where.values().data() + 8 * i) == static_cast<float>(batch.ids()[i]));
  }
  mds::loader<of_c> own(given);
  for (const auto& batch : own.epoch())
    CHECK(x_of(batch.get<"where">().values().data()) == static_cast<float>(batch.ids()[0]));
  using raw = of<col<"where", mds::bytes>>;
  mds::loader_options quiet = given;
  quiet.warn = [](const std::string&) {};
  mds::loader<raw> bytes(quiet);
  for (const auto& batch : bytes.epoch()) {
    REQUIRE(batch.get<"where">()[0].size() == 8);
    CHECK(x_of(batch.get<"where">()[0].data()) == static_cast<float>(batch.ids()[0]));
  }
  // A size that is not the program's.
  change_index(dir / "points", "\"column_sizes\": [8, 8]", "\"column_sizes\": [8, 9]");
  support::expect_error([&] { mds::dataset<of_c> data({.local = dir / "points"}); },
                        mds::errc::schema_mismatch,
                        {"column \"where\"", "values of 9 bytes", "8 bytes"});
  change_index(dir / "points", "\"column_sizes\": [8, 9]", "\"column_sizes\": [8, null]");
  support::expect_error([&] { mds::dataset<of_c> data({.local = dir / "points"}); },
                        mds::errc::schema_mismatch,
                        {"column \"where\"", "values of no fixed size", "8 bytes"});
  // A name that is not the program's.
  change_index(dir / "points", "\"column_sizes\": [8, null]", "\"column_sizes\": [8, 8]");
  change_index(dir / "points", "point", "pixel");
  support::expect_error([&] { mds::dataset<of_c> data({.local = dir / "points"}); },
                        mds::errc::schema_mismatch,
                        {"column \"where\"", "another encoding", "pixel"});
}

TEST_CASE("pickles are read where unsafe types are allowed, and never executed") {
  using namespace columns_test;
  const scratch dir;
  using pickles = of<col<"p", mds::pickled>>;
  const std::string seven("\x80\x02K\x07.", 5);
  mds::writer<pickles> out({.out = dir / "p"});
  for (int i = 0; i < 4; ++i) out.write(mds::as_bytes(seven));
  out.finish();
  mds::dataset_options given{.remote = dir / "p", .local = dir / "cache"};
  support::expect_error([&] { mds::dataset<> data(given); }, mds::errc::unsupported,
                        {"\"p\"", "allow_unsafe_types"});
  mds::loader_options batches{
      .remote = dir / "p", .local = dir / "cache", .batch_size = 2, .world = mds::world{}};
  support::expect_error([&] { mds::loader<> loader(batches); }, mds::errc::unsupported);
  given.allow_unsafe_types = batches.allow_unsafe_types = true;
  const mds::dataset<> data(given);
  CHECK(data[3].get<mds::pickled>("p").text == "7");
  CHECK(mds::dataset<pickles>(given)[0].get<"p">().text == "7");
  mds::loader<> loader(batches);
  for (const auto& batch : loader.epoch())
    CHECK(batch.ragged<std::byte>("p")[0].size() == seven.size());
  // Of one stream.
  mds::dataset_options one{
      .streams = {{.remote = dir / "p", .local = dir / "cache", .allow_unsafe_types = true}}};
  CHECK(mds::dataset<>(one).size() == 4);
}
