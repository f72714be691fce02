#include <mdstream/format/row_values.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace row_values_test {

using mdstream::errc;
using mdstream::named_value;

mdstream::shard_config config_of(mdstream::shard_format format, std::string separator = ",",
                                 std::string newline = "\n") {
  std::vector<mdstream::column_layout> columns;
  for (const char* name : {"f:float", "n:int", "s:str"}) {
    const std::string text(name);
    columns.push_back({text.substr(0, 1), text.substr(2),
                       *mdstream::find_cell_encoding(text.substr(2)), std::nullopt});
  }
  return {.layout = {format, columns},
          .newline = std::move(newline),
          .separator = std::move(separator)};
}

const mdstream::shard_config json_config = config_of(mdstream::shard_format::json);
const mdstream::shard_config csv_config = config_of(mdstream::shard_format::csv);

mdstream::column_value cell(const mdstream::shard_config& config, const std::string& row,
                            const char* name) {
  return mdstream::read_column(config, mdstream::as_bytes(row), name);
}

std::string row_of(const mdstream::shard_config& config,
                   std::initializer_list<named_value> values) {
  mdstream::row_encoder encoder(config);
  return std::string(encoder.encode(values.begin(), values.size()));
}

}  // namespace row_values_test

TEST_CASE("cells of JSONL rows", "[row_values]") {
  using namespace row_values_test;
  const std::string row =
      "{\"x\": [1, {\"s\": 2}], \"s\": \"a\\u00e9\\ud83d\\ude42\", \"n\": 123456789012345678901, "
      "\"f\": 1e5}\r\n";
  CHECK(cell(json_config, row, "s").as<std::string_view>() == "a\xC3\xA9\xF0\x9F\x99\x82");
  CHECK(cell(json_config, row, "n").as<mdstream::json::big_integer>().digits ==
        "123456789012345678901");
  CHECK(cell(json_config, row, "f").as<double>() == 1e5);
  CHECK(cell(json_config, "{\"n\": -5}", "n").as<std::int64_t>() == -5);
  CHECK(cell(json_config, "{\"n\": 18446744073709551615}", "n").as<std::uint64_t>() ==
        0xFFFFFFFFFFFFFFFF);
  CHECK(cell(json_config, "{\"n\": true}", "n").as<bool>());
  CHECK(cell(json_config, "{\"f\": 3}", "f").as<double>() == 3.0);
  CHECK(std::isnan(cell(json_config, "{\"f\": NaN}", "f").as<double>()));
  CHECK(cell(json_config, "{\"n\": 1, \"n\": 2}", "n").as<std::int64_t>() == 2);
}

TEST_CASE("cells of XSV rows", "[row_values]") {
  using namespace row_values_test;
  CHECK(cell(csv_config, "1e-05,-7,text\n", "f").as<double>() == 1e-5);
  CHECK(cell(csv_config, "1e-05,-7,text\n", "n").as<std::int64_t>() == -7);
  CHECK(cell(csv_config, "1e-05,-7,\"te xt\"\n", "s").as<std::string_view>() == "\"te xt\"");
  CHECK(cell(csv_config, "inf,7,,\n", "s").as<std::string_view>().empty());
  CHECK(cell(csv_config, "-inf,7,\n", "f").as<double>() == -INFINITY);
  const auto wide = config_of(mdstream::shard_format::xsv, "||", "\r\n");
  CHECK(cell(wide, "0.5||7||a|b\r\n", "s").as<std::string_view>() == "a|b");
}

TEST_CASE("cells that are not there or nonsense name their column", "[row_values]") {
  using namespace row_values_test;
  const auto refuse = [](const mdstream::shard_config& config, const std::string& row,
                         const char* name, std::string_view piece) {
    INFO(row);
    support::expect_error([&] { (void)cell(config, row, name); }, errc::corrupt,
                          {piece, "column \"" + std::string(name) + '"'});
  };
  refuse(json_config, "{\"n\": 1}\n", "s", "no such column");
  refuse(json_config, "{\"n\": 1\n", "n", "byte");
  refuse(json_config, "{\"n\": null}\n", "n", "no text or number");
  refuse(json_config, "{\"n\": [1]}\n", "n", "no text or number");
  refuse(json_config, "[1]\n", "n", "an object");
  refuse(json_config, "{\"n\": 1} x\n", "n", "follows");
  refuse(json_config, "{\"s\": \"\xFF\"}\n", "s", "UTF-8");
  refuse(csv_config, "0.5,1\n", "s", "too few fields");
  refuse(csv_config, "0.5,True,x\n", "n", "not an integer");
  refuse(csv_config, "x,1,x\n", "f", "not a number");
  refuse(csv_config, "0.5,1,x", "s", "newline");
  refuse(csv_config, "0.5,1,\xFF\n", "n", "UTF-8");
}

TEST_CASE("rows are made as the reference makes them", "[row_values]") {
  using namespace row_values_test;
  CHECK(row_of(json_config, {{"s", "\xC3\xA9\"\n"}, {"f", 1.0}, {"n", 5}, {"other", 1}}) ==
        "{\"f\": 1.0, \"n\": 5, \"s\": \"\\u00e9\\\"\\n\"}\n");
  CHECK(row_of(json_config, {{"s", ""}, {"f", NAN}, {"n", true}}) ==
        "{\"f\": NaN, \"n\": true, \"s\": \"\"}\n");
  CHECK(row_of(csv_config, {{"s", "a b"}, {"f", INFINITY}, {"n", std::uint64_t{1} << 63}}) ==
        "inf,9223372036854775808,a b\n");
  CHECK(row_of(csv_config, {{"s", ""}, {"f", 1e16}, {"n", mdstream::json::big_integer{"-0012"}}}) ==
        "1e+16,-12,\n");
  mdstream::row_encoder encoder(csv_config);
  for (const char* const text : {"one", "two"}) {
    const named_value values[] = {{"s", text}, {"f", 0.5}, {"n", 5}};
    CHECK(encoder.encode(values, 3) == "0.5,5," + std::string(text) + "\n");
  }
  CHECK(mdstream::row_encoder(csv_config).head() == "f,n,s\n");
  CHECK(mdstream::row_encoder(json_config).head().empty());
}

TEST_CASE("values that a row can not hold are refused by column", "[row_values]") {
  using namespace row_values_test;
  const auto refuse = [](const mdstream::shard_config& config,
                         std::initializer_list<named_value> values, std::string_view piece) {
    support::expect_error([&] { (void)row_of(config, values); }, errc::invalid_argument, {piece});
  };
  for (const auto* config : {&json_config, &csv_config}) {
    refuse(*config, {{"f", 1.0}, {"n", 1}}, "column \"s\"");
    refuse(*config, {{"s", "x"}, {"f", 1}, {"n", 1}}, "column \"f\"");
    refuse(*config, {{"s", "x"}, {"f", 1.0}, {"n", 1.0}}, "column \"n\"");
    refuse(*config, {{"s", "x"}, {"f", 1.0}, {"n", "1"}}, "column \"n\"");
    refuse(*config, {{"s", 1}, {"f", 1.0}, {"n", 1}}, "column \"s\"");
    refuse(*config, {{"s", "\xFF"}, {"f", 1.0}, {"n", 1}}, "column \"s\"");
  }
  refuse(csv_config, {{"s", "a,b"}, {"f", 1.0}, {"n", 1}}, "separator");
  refuse(csv_config, {{"s", "a\nb"}, {"f", 1.0}, {"n", 1}}, "newline");
  refuse(csv_config, {{"s", "a"}, {"f", 1.0}, {"n", true}}, "column \"n\"");
  // "a|" before "||" would be read as "a" and "|b"
  auto pipes = config_of(mdstream::shard_format::xsv, "||", "\n");
  std::vector<mdstream::column_layout> texts;
  for (const char* name : {"a", "b"})
    texts.push_back({name, "str", *mdstream::find_cell_encoding("str"), std::nullopt});
  pipes.layout = {mdstream::shard_format::xsv, texts};
  refuse(pipes, {{"a", "x|"}, {"b", "y"}}, "separator");
  CHECK(row_of(pipes, {{"a", "x"}, {"b", "y|"}}) == "x||y|\n");
}
