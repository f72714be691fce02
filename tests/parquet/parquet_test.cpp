// Parquet files are read as pyarrow reads them, in shards of whole row groups, or refused in words.
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/format/column_value.hpp>

#include <nlohmann/json.hpp>
#include <random>

#include "parquet/files.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace parquet_test {

using mdstream::errc;
using nlohmann::json;

const json& expected() {
  static const json all = json::parse(golden("expected_parquet.json"));
  return all;
}

json json_of(const mds::any_ndarray& array) {
  json out = json::array();
  mds::visit_dtype(array.type(), [&]<class T>(T) {
    for (const T value : array.values<T>()) {
      if constexpr (std::is_integral_v<T>)
        out.push_back(value);
      else
        out.push_back(static_cast<double>(value));
    }
  });
  return out;
}

/// A value as expected_parquet.json has it.
json json_of(const mds::encoding& type, const mds::column_value& value) {
  return std::visit(
      [&](const auto& held) -> json {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, mds::bytes_view>)
          return mds::detail::to_hex(held);
        else if constexpr (std::is_same_v<T, std::string_view>)
          return type.kind == mds::encoding_kind::json ? json::parse(held) : json(held);
        else if constexpr (std::is_same_v<T, mds::decimal>)
          return to_string(held);
        else if constexpr (std::is_same_v<T, mds::any_ndarray>)
          return json_of(held);
        else if constexpr (std::is_arithmetic_v<T>)
          return held;
        else
          return "another type";
      },
      value.get());
}

void check_rows(const rows& found, const json& wanted) {
  REQUIRE(found.samples.size() == wanted.size());
  const mds::sample_layout layout = raw::layout_of(found.index.options.columns);
  for (std::size_t row = 0; row < wanted.size(); ++row)
    for (std::size_t i = 0; i < layout.size(); ++i) {
      CAPTURE(row, layout[i].name);
      json value =
          json_of(layout[i].type, mds::read_column(layout, mds::as_bytes(found.samples[row]), i));
      const json& other = wanted[row].at(layout[i].name);
      if (other.is_boolean()) value = value != 0;
      CHECK(value == other);
    }
}

void refuse(const raw_test::source& objects, const raw::options& about, errc code,
            std::initializer_list<std::string_view> pieces) {
  support::expect_error([&] { (void)read(objects, about); }, code, pieces);
}

}  // namespace parquet_test

TEST_CASE("Parquet files of pyarrow are read as pyarrow reads them", "[parquet]") {
  using namespace parquet_test;
  for (const char* name : {"pyarrow.parquet", "pyarrow-v1.parquet", "pyarrow-v2.parquet"}) {
    CAPTURE(name);
    check_rows(read({{name, golden(name)}}), expected().at(name));
  }
  std::string columns;
  for (const raw::column& each : read({{"x", golden("pyarrow.parquet")}}).index.options.columns)
    columns += raw::to_string(each) + ' ';
  CHECK(
      columns ==
      "binary=bytes bool=uint8 category=str chat=json date=int32 decimal=str_decimal "
      "decimal256=str_decimal doc=json fixed=bytes float16=float16 float32=float32 float64=float64 "
      "image=bytes int16=int16 int32=int32 int64=int64 int8=int8 large_list=ndarray:float32 "
      "large_string=str list=ndarray:int32 map=json moment=int64 point=ndarray:float64:3 "
      "string=str time32=int32 time64=int64 uint16=uint16 uint32=uint32 uint64=uint64 "
      "uint8=uint8 ");
}

TEST_CASE("columns of Parquet are taken in other encodings, where their values fit", "[parquet]") {
  using namespace parquet_test;
  const raw_test::source file{{"x", golden("pyarrow.parquet")}};
  const rows found = read(file, {.columns = {{"int8", "int"},
                                             {"bool", "int"},
                                             {"list", "json"},
                                             {"float32", "float64"},
                                             {"binary", "bytes"},
                                             {"image", "png"},
                                             {"decimal", "str"}}});
  check_rows(found, expected().at("pyarrow.parquet"));
  refuse(file, {.columns = {{"int64", "int8"}}}, errc::corrupt, {"int64", "x", "encoding int8"});
  refuse(file, {.columns = {{"string", "int"}}}, errc::corrupt, {"string", "not an integer"});
  refuse(file, {.columns = {{"image", "str"}}}, errc::corrupt, {"image", "not UTF-8"});
  refuse(file, {.columns = {{"chat", "ndarray:int32"}}}, errc::corrupt, {"chat", "struct"});
  refuse(file, {.columns = {{"map", "str"}}}, errc::corrupt, {"map", "encoding str"});
  refuse(file, {.columns = {{"image", "json"}}}, errc::unsupported, {"image", "binary", "no JSON"});
  refuse(file, {.columns = {{"none", "str"}}}, errc::corrupt, {"none", "no column of that name"});
}

TEST_CASE("a shard is the row groups that begin in its bytes, whatever is fed", "[parquet]") {
  using namespace parquet_test;
  const raw_test::source files{{"a", numbers(0, 100, 7)}, {"b", numbers(100, 1, 1)}};
  const rows whole = read(files);
  CHECK(whole.index.shards() == 2);
  REQUIRE(whole.samples.size() == 101);
  for (const std::uint64_t shard_bytes : {16U, 500U, 2000U}) {
    raw::options about;
    about.shard_bytes = shard_bytes;
    const rows found = read(files, about, 50);
    CHECK(found.index.shards() == (shard_bytes == 16 ? 16 : found.index.shards()));
    CHECK(found.samples == whole.samples);
    CHECK(found.index.objects[0].cuts == read(files, about).index.objects[0].cuts);
    CHECK(raw::detail::row_index::parse(found.index.dump()) == found.index);
  }
  CHECK(raw_test::texts_of(whole.index, whole.samples, "text")[100] == "row 100");
}

TEST_CASE("nulls are named, or what stands for them is taken", "[parquet]") {
  using namespace parquet_test;
  const raw_test::source file{{"x", golden("pyarrow-nulls.parquet")}};
  refuse(file, {.columns = {{"text", "str"}}}, errc::corrupt, {"null_value", "x", "sample 1"});
  const rows texts = read(file, {.columns = {{"text", "json"}, {"n", "json"}, {"any", "json"}}});
  CHECK(raw_test::texts_of(texts.index, texts.samples, "n") ==
        std::vector<std::string>{"1", "2", "null"});
  CHECK(raw_test::texts_of(texts.index, texts.samples, "text") ==
        std::vector<std::string>{R"("a")", "null", R"("c")"});
  CHECK(raw_test::texts_of(texts.index, texts.samples, "any") ==
        std::vector<std::string>{"[1, null]", "null", "[]"});
  const rows named =
      read(file, {.columns = {{"n", "int"}, {"missing", "int8"}}, .null_value = "7"});
  CHECK(named.samples[2] == std::string("\7\7\0\0\0\0\0\0\0", 9));
  refuse(file, {.columns = {{"any", "ndarray:int64"}}, .null_value = "[]"}, errc::corrupt,
         {"any", "a list has a null"});
}

TEST_CASE("what is no Parquet file, or one that lies, is named", "[parquet]") {
  using namespace parquet_test;
  const std::string good = numbers(0, 30, 10);
  refuse({{"x", ""}}, {}, errc::corrupt, {"x", "too short"});
  refuse({{"x", "no Parquet at all"}}, {}, errc::corrupt, {"x", "byte 13"});
  refuse({{"x", good.substr(0, good.size() - 1)}}, {}, errc::corrupt, {"x", "cut short"});
  refuse({{"x", good.substr(0, good.size() - 4) + "PARE"}}, {}, errc::unsupported, {"encrypted"});
  refuse({{"x", good.substr(0, good.size() - 8) + std::string("\xff\xff\xff\x7f", 4) + "PAR1"}}, {},
         errc::corrupt, {"x", "2147483647"});
  refuse({{"x", good}}, {.skip_bad = true}, errc::invalid_argument, {"skip_bad"});
  raw::options small;
  small.max_row_bytes = 10;
  small.columns = {{"n", "int"}, {"text", "str"}};
  refuse({{"x", good}}, small, errc::unsupported, {"x", "max_row_bytes"});
  small.max_row_bytes = 1 << 10;
  CHECK(read({{"x", good}}, small).samples.size() == 30);

  const raw::source_format format = formats::open({.format = "parquet"});
  raw::detail::object_cutter compressed(format, "x.gz", std::nullopt);
  support::expect_error([&] { compressed.feed(mds::as_bytes(good), true); }, errc::unsupported,
                        {"x.gz", "compressed"});
  raw::detail::object_cutter shorter(format, "x", good.size() + 1);
  support::expect_error([&] { shorter.feed(mds::as_bytes(good), true); }, errc::corrupt,
                        {"shorter than its listing"});
}

TEST_CASE("a schema that nests for ever is refused before anything follows it", "[parquet]") {
  using namespace parquet_test;
  for (const std::size_t depth : {100U, 300U, 100'000U}) {
    // FileMetaData: version, schema (a root, groups of one child, a leaf), no rows, no row groups
    const std::size_t count = depth + 2;
    std::string footer("\x15\x02\x19\xfc", 4);
    for (std::size_t rest = count; rest > 0; rest >>= 7)
      footer += static_cast<char>((rest & 127) | (rest > 127 ? 128 : 0));
    footer.append("\x48\x01r\x15\x02\x00", 6);
    for (std::size_t i = 0; i < depth; ++i)
      footer.append(
          "\x35\x00\x18\x01"
          "a\x15\x02\x00",
          8);
    footer.append(
        "\x15\x02\x25\x00\x18\x01"
        "b\x00\x16\x00\x19\x0c\x00",
        13);
    const auto size = static_cast<std::uint32_t>(footer.size());
    const std::string file =
        "PAR1" + footer + std::string(reinterpret_cast<const char*>(&size), 4) + "PAR1";
    if (depth == 100)
      CHECK(read({{"x", file}}).samples.empty());
    else
      refuse({{"x", file}}, {}, errc::unsupported, {"x", "200 levels"});
  }
}

TEST_CASE("a Parquet file that is cut or changed anywhere is read or refused", "[parquet]") {
  using namespace parquet_test;
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::size_t refused = 0, taken = 0;
  for (const std::string& good : {numbers(0, 20, 6), golden("pyarrow-v2.parquet")})
    for (int round = 0; round < 400; ++round) {
      std::string bad = good;
      for (auto n = 1 + random() % 3; n > 0; --n)
        bad[random() % bad.size()] = static_cast<char>(random());
      try {
        (void)read({{"x", bad}});
        ++taken;
      } catch (const mds::error& e) {
        CHECK_FALSE(e.where().what.empty());
        ++refused;
      }
    }
  CHECK(refused > 0);
  CHECK(taken > 0);
}

TEST_CASE("what decodes to far more than a file has is refused before it takes the memory",
          "[parquet]") {
  using namespace parquet_test;
  const std::string row(std::size_t{16} << 10, 'x');  // once in the file, by its dictionary
  const raw_test::source file{
      {"x", file_of({{"text", texts(2000, [&](std::int64_t) { return row; })}}, 2000)}};
  CHECK(file.at("x").size() < 2 * row.size());
  CHECK(read(file).samples.size() == 2000);
  raw::options small;
  small.max_row_bytes = 32 << 10;
  refuse(file, small, errc::unsupported, {"x", "byte 4", "bytes of memory", "max_row_bytes"});
}

TEST_CASE("columns that are named are found by their place", "[parquet]") {
  using namespace parquet_test;
  const raw_test::source file{{"x", wide(std::uint64_t{3} << 20)}};
  raw::options about;
  about.columns = {{"last", "int64"}, {"n", "int64"}};
  const rows found = read(file, about);
  const raw::cut& cut = found.index.objects[0].cuts.at(0);
  REQUIRE(cut.extra.size() == 8);  // two runs
  const raw::source_format format = formats::open(found.index.options);
  std::uint64_t bytes = 0;
  for (const auto& each : raw::detail::parts_of(format, found.index, {0, 0}))
    bytes += each.range.bytes;
  CHECK(bytes < 100'000);
  REQUIRE(found.samples.size() == 1000);
  CHECK(mds::load<std::int64_t>(mds::as_bytes(found.samples[5]).data()) == 12);
  about.columns = {{"none", "int8"}};
  about.null_value = "1";
  CHECK(read(file, about).samples == std::vector<std::string>(1000, "\1"));  // rows are rows
}

TEST_CASE("an index that lies about a Parquet file is refused", "[parquet]") {
  using namespace parquet_test;
  const raw_test::source file{{"x", numbers(0, 30, 10)}};
  raw::options about{.format = "parquet"};
  about.shard_bytes = 16;
  const rows good = read(file, about);
  const raw::source_format format = formats::open(good.index.options);
  REQUIRE(good.index.shards() == 3);
  const auto lie = [&](auto&& change) {
    raw::detail::row_index index = good.index;
    change(index.objects[0].cuts[1]);
    return support::error_of([&] { (void)raw_test::rows_of(format, index, file); });
  };
  for (std::size_t i = 0; i < 6; ++i)
    for (const std::uint64_t value :
         {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 31}) {
      if (i == 2 && value == 0) continue;  // more is read than is needed
      CAPTURE(i, value);
      const auto refused = lie([&](raw::cut& each) { each.extra[i] = value; });
      REQUIRE(refused.has_value());
      CHECK(refused->where().url == "x");
    }
  CHECK(lie([](raw::cut& each) { each.extra.pop_back(); }).has_value());
  CHECK(lie([](raw::cut& each) { each.samples = 9; }).has_value());
  CHECK(lie([](raw::cut& each) { ++each.extra[1]; }).has_value());  // another's bytes are not read
  CHECK(lie([](raw::cut& each) { each.bytes = std::uint64_t{1} << 40; }).has_value());
  CHECK_FALSE(lie([](raw::cut&) {}).has_value());
}
