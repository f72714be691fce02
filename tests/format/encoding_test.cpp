#include <mdstream/format/encoding.hpp>

#include <string>

#include "format/golden.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

TEST_CASE("encodings are valid and sized as the reference has them", "[encoding]") {
  const auto golden = format_golden::read_json(format_golden::root() + "encodings.json");
  for (const auto& each : golden.at("names")) {
    const auto text = each.at("name").get<std::string>();
    INFO(text);
    const auto found = mdstream::find_encoding(text);
    REQUIRE(found.has_value() == each.value("valid", false));
    if (!found) {
      support::expect_error([&] { (void)mdstream::parse_encoding(text); },
                            mdstream::errc::invalid_argument, {text});
      continue;
    }
    const auto size = mdstream::fixed_size(*found);
    REQUIRE(size.has_value() == !each.at("size").is_null());
    if (size) CHECK(*size == each.at("size").get<std::uint64_t>());
    CHECK(mdstream::find_encoding(mdstream::to_string(*found)) == found);
  }
  CHECK(golden.at("names").size() == 55);
}

TEST_CASE("more that is no encoding", "[encoding]") {
  for (const char* text : {"ndarray:uint8:3_", "ndarray:uint8:_3", "ndarray:uint8:1__0",
                           "ndarray:uint8:99999999999999999999", "ndarray:uint8:3,,4",
                           "ndarray: uint8", "bytes ", "float", "ndarray:uint8:+", "ndarray:none"})
    CHECK_FALSE(mdstream::find_encoding(text));
}

TEST_CASE("an array too large to be is not mistaken for a small one", "[encoding]") {
  const auto huge = mdstream::parse_encoding("ndarray:float64:4294967296,4294967296,2");
  CHECK(mdstream::fixed_size(huge) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("encodings are known while compiling", "[encoding]") {
  static_assert(mdstream::fixed_size(*mdstream::find_encoding("ndarray:uint16:3,4")) == 24);
  static_assert(!mdstream::find_encoding("nonsense"));
  static_assert(mdstream::is_unsafe(*mdstream::find_encoding("pkl")));
  static_assert(mdstream::find_cell_encoding("float")->kind == mdstream::encoding_kind::float_);
  static_assert(!mdstream::find_cell_encoding("bytes"));
  CHECK(mdstream::to_string(*mdstream::find_cell_encoding("float")) == "float");
}
