#include <mdstream/format/sample_layout.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace sample_layout_test {

std::string u32(std::uint32_t value) {
  std::string out(4, '\0');
  std::memcpy(out.data(), &value, 4);
  return out;
}

/// a: str, b: int, c: bytes, d: uint8
mdstream::sample_layout four() {
  return mdstream::sample_layout::mds({{"d", "uint8"}, {"c", "bytes"}, {"b", "int"}, {"a", "str"}});
}

std::string sample(std::uint32_t a, std::uint32_t c, const std::string& values) {
  return u32(a) + u32(c) + values;
}

}  // namespace sample_layout_test

TEST_CASE("columns are sorted by name and found in a sample", "[sample_layout]") {
  using namespace sample_layout_test;
  const mdstream::sample_layout layout = four();
  CHECK(layout.describe() == "a: str, b: int, c: bytes, d: uint8");
  CHECK(layout.variable_columns() == 2);
  CHECK_FALSE(layout.fixed_sample_size());
  const std::string bytes = sample(2, 3, "hi" + std::string(8, '\1') + "xyz" + "\7");
  const auto view = mdstream::as_bytes(bytes);
  CHECK(mdstream::as_text(layout.locate(view, 0)) == "hi");
  CHECK(mdstream::as_text(layout.locate(view, 2)) == "xyz");
  CHECK(mdstream::as_text(layout.locate(view, layout.at("d"))) == "\7");
  CHECK(layout.locate(view, 1).size() == 8);
  CHECK_NOTHROW(layout.check(view));
  CHECK(mdstream::sample_layout::mds({{"x", "int"}, {"y", "uint8"}}).fixed_sample_size() == 9);
}

TEST_CASE("columns that reach beyond the sample are refused, with their name", "[sample_layout]") {
  using namespace sample_layout_test;
  using mdstream::errc;
  const mdstream::sample_layout layout = four();
  const auto locate = [&](const std::string& bytes, std::size_t column) {
    return [&layout, bytes, column] { (void)layout.locate(mdstream::as_bytes(bytes), column); };
  };
  support::expect_error(locate("", 0), errc::corrupt, {"column \"a\""});
  support::expect_error(locate(sample(0, 0, "12345678"), 3), errc::corrupt, {"column \"d\""});
  const std::string values(20, 'v');
  support::expect_error(locate(sample(21, 0, values), 0), errc::corrupt, {"column \"a\"", "21"});
  support::expect_error(locate(sample(0xFFFFFFFF, 0xFFFFFFFF, values), 2), errc::corrupt,
                        {"column \"c\""});
  support::expect_error(locate(sample(0xFFFFFFFF, 1, values), 3), errc::corrupt, {"column \"d\""});
  support::expect_error([&] { layout.check(mdstream::as_bytes(sample(2, 3, values))); },
                        errc::corrupt, {"6 bytes follow", "byte 22"});
}

TEST_CASE("columns that can not be are refused", "[sample_layout]") {
  using mdstream::errc;
  using mdstream::sample_layout;
  support::expect_error([] { (void)sample_layout::mds({}); }, errc::invalid_argument, {"column"});
  support::expect_error([] { (void)sample_layout::mds({{"x", "int"}, {"x", "str"}}); },
                        errc::invalid_argument, {"twice", "\"x\""});
  support::expect_error([] { (void)sample_layout::mds({{"x", "float"}}); }, errc::invalid_argument,
                        {"\"float\""});
  support::expect_error([] { (void)sample_layout_test::four().at("nope"); }, errc::not_found,
                        {"nope", "a: str"});
}
