#include <mdstream/format/column_value.hpp>

#include <mdstream/format/index.hpp>
#include <mdstream/format/mds_shard.hpp>

#include <filesystem>
#include <string>

#include "format/golden.hpp"
#include "format/typed_values.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("values are decoded as the reference decodes them", "[column_value]") {
  const auto golden = format_golden::read_json(format_golden::root() + "encodings.json");
  for (const auto& each : golden.at("decode")) {
    INFO(each.dump());
    const auto type = mdstream::parse_encoding(each.at("encoding").get<std::string>());
    const std::string bytes = format_golden::from_hex(each.at("hex").get<std::string>());
    if (each.contains("error")) {
      support::expect_error([&] { (void)mdstream::decode_value(type, mdstream::as_bytes(bytes)); },
                            mdstream::errc::corrupt);
    } else {
      const auto value = mdstream::decode_value(type, mdstream::as_bytes(bytes));
      CHECK(typed_values::same(value, each.at("value"), type));
    }
  }
  CHECK(golden.at("decode").size() == 27);
}

TEST_CASE("every sample of the uncompressed MDS datasets has its golden values", "[column_value]") {
  std::size_t values = 0;
  for (const std::string& name : format_golden::dataset_names()) {
    const std::string base = format_golden::root() + "mds/" + name + "/";
    if (!std::filesystem::exists(base + "data/index.json")) continue;
    const auto samples = format_golden::read_json(base + "samples.json");
    const auto index = mdstream::dataset_index::parse(
        format_golden::read_text(base + "data/index.json"), {.allow_unsafe_types = true});
    std::size_t row = 0;
    for (std::size_t i = 0; i < index.shards(); ++i) {
      if (index.format(i) != mdstream::shard_format::mds || index.zip(i)) {
        row += index.shard_samples(i);
        continue;
      }
      INFO(name << " shard " << i);
      const std::string bytes = format_golden::read_text(base + "data/" + index.raw(i).name);
      REQUIRE(bytes.size() == index.raw(i).bytes);
      const mdstream::mds_shard_view shard(mdstream::as_bytes(bytes), index.shard_samples(i));
      const mdstream::sample_layout& layout = index.layout(i);
      for (std::size_t k = 0; k < shard.size(); ++k, ++row) {
        const auto& expected = samples.at(row);
        REQUIRE(expected.at("shard").get<std::size_t>() == i);
        REQUIRE(expected.at("index").get<std::size_t>() == k);
        CHECK_NOTHROW(layout.check(shard[k]));
        REQUIRE(expected.at("sample").size() == layout.size());
        for (const auto& [column, value] : expected.at("sample").items()) {
          INFO(column << ": " << value.dump().substr(0, 200));
          const auto got = mdstream::read_column(layout, shard[k], column);
          CHECK(typed_values::same(got, value, layout[layout.at(column)].type));
          ++values;
        }
      }
    }
    CHECK(row <= samples.size());
  }
  CHECK(values >= 593);
}

TEST_CASE("a value that is nonsense names its column", "[column_value]") {
  const auto layout = mdstream::sample_layout::mds({{"a", "str"}, {"b", "json"}});
  const std::string bytes("\x01\0\0\0\x01\0\0\0\xFF{", 10);
  const auto sample = mdstream::as_bytes(bytes);
  using mdstream::errc;
  support::expect_error([&] { (void)mdstream::read_column(layout, sample, "a"); }, errc::corrupt,
                        {"column \"a\"", "UTF-8"});
  support::expect_error([&] { (void)mdstream::read_column(layout, sample, "b"); }, errc::corrupt,
                        {"column \"b\"", "byte 1"});
  support::expect_error([&] { (void)mdstream::read_column(layout, sample, "c"); }, errc::not_found,
                        {"\"c\"", "a: str, b: json"});
  support::expect_error([] { (void)mdstream::column_value(1).as<double>(); },
                        errc::schema_mismatch);
}

TEST_CASE("image values that do not add up are refused", "[column_value]") {
  using format_golden::from_hex;
  const auto refuse = [](const char* encoding, const std::string& hex) {
    INFO(encoding << " " << hex);
    const std::string bytes = from_hex(hex);
    support::expect_error(
        [&] {
          (void)mdstream::decode_value(mdstream::parse_encoding(encoding),
                                       mdstream::as_bytes(bytes));
        },
        mdstream::errc::corrupt, {"byte"});
  };
  refuse("pil", "");
  refuse("pil", "0100000001000000");
  refuse("pil", "0100000001000000ffffffff4c00");
  refuse("pil",
         "02000000020000000100000"
         "04c000000");
  refuse("pil", "ffffffffffffffff0400000052474241");
  refuse("pil", "0100000001000000010000004c0000");
  refuse("jpeg_array", "ffffffff00000000");
  refuse("jpeg_array", "0100000005000000ffd8");
  refuse("list[png]", "00000000");
  refuse("list[png]", "0000000001000000");
  refuse("list[pil]", "000000000100000001000000ff");
  refuse("list[jpeg]", "0000000002000000ffffffffffffffff");
}
