#include <mdstream/format/sample_view.hpp>

#include <cstdint>
#include <string>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace sample_view_test {

using namespace mdstream;  // short names for column types, within this namespace only

using rows = schema<column<"array", ndarray<std::uint16_t, 2>>, column<"id", std::int32_t>,
                    column<"text", str>>;

const sample_layout layout = rows::layout();

/// array {1, 2}, id 3, text "four"
const std::string bytes =
    std::string("\4\0\0\0", 4) + std::string("\1\0\2\0", 4) + std::string("\3\0\0\0", 4) + "four";

}  // namespace sample_view_test

TEST_CASE("columns of a sample are had by schema and by name, with the same values",
          "[sample_view]") {
  using namespace sample_view_test;
  const sample_view<rows> typed(as_bytes(sample_view_test::bytes), layout);
  CHECK(typed.get<"id">() == 3);
  CHECK(typed.get<"text">() == "four");
  CHECK(typed.get<"array">()[1] == 2);

  const sample_view<dynamic_schema> named(as_bytes(sample_view_test::bytes), layout);
  CHECK(named.get<std::int32_t>("id") == typed.get<"id">());
  CHECK(named.get<std::string_view>("text") == typed.get<"text">());
  CHECK(named.get<unaligned_view<std::uint16_t>>("array")[1] == 2);
  CHECK(named.get<any_ndarray>("array").shape() == array_shape{2});
  CHECK(as_text(named.get<bytes_view>("text")) == "four");
  CHECK(named.bytes().data() == as_bytes(sample_view_test::bytes).data());
}

TEST_CASE("a column that is not there, is no such type or is cut short is refused by name",
          "[sample_view]") {
  using namespace sample_view_test;
  const sample_view<dynamic_schema> named(as_bytes(sample_view_test::bytes), layout);
  support::expect_error([&] { (void)named.get<bytes_view>("none"); }, errc::not_found, {"none"});
  support::expect_error([&] { (void)named.get<float>("id"); }, errc::invalid_argument,
                        {"column \"id\"", "int32"});
  support::expect_error([&] { (void)named.get<std::string_view>("array"); }, errc::invalid_argument,
                        {"column \"array\""});
  support::expect_error([&] { (void)named.get<unaligned_view<float>>("array"); },
                        errc::invalid_argument, {"column \"array\"", "uint16"});
  const auto cut = as_bytes(sample_view_test::bytes).first(14);
  support::expect_error(
      [&] { (void)sample_view<dynamic_schema>(cut, layout).get<bytes_view>("text"); },
      errc::corrupt, {"column \"text\""});
  support::expect_error([&] { (void)sample_view<rows>(cut, layout).get<"text">(); }, errc::corrupt,
                        {"column \"text\""});
}
