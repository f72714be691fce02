#include <mdstream/core/detail/text.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "support/catch.hpp"

TEST_CASE("Python's float() of a text", "[core]") {
  using mdstream::detail::parse_python_float;
  CHECK(parse_python_float(" 1e-3\t") == 0.001);
  CHECK(parse_python_float("1_0.5_0") == 10.5);
  CHECK(parse_python_float(".5") == 0.5);
  CHECK(parse_python_float("5.") == 5.0);
  CHECK(parse_python_float("+1E5") == 1e5);
  CHECK(parse_python_float("1e400") == std::numeric_limits<double>::infinity());
  CHECK(parse_python_float("-1e400") == -std::numeric_limits<double>::infinity());
  CHECK(parse_python_float("1e-400") == 0.0);
  CHECK(parse_python_float("-Infinity") == -std::numeric_limits<double>::infinity());
  CHECK(parse_python_float("iNf") == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(parse_python_float("NaN").value()));
  CHECK(std::signbit(parse_python_float("-0").value()));
  for (const char* bad : {"", " ", "1e", "e5", "0x1p3", "1..", "1,5", "infin", "nan1", "_1", "1_e5",
                          "1e_5", "--1", "+", "."})
    CHECK_FALSE(parse_python_float(bad));
}

TEST_CASE("ASCII letters have a case, and Python's white space goes", "[core]") {
  using namespace mdstream::detail;
  CHECK(trimmed(" \t\n\v\f\r\x1c\x1f a b\x1d ") == "a b");
  CHECK(trimmed(" \n").empty());
  CHECK(to_lower("AZ[\xc3\x84z") == "az[\xc3\x84z");
  CHECK(equal_ignoring_case("ETag", "eTAG"));
  CHECK_FALSE(equal_ignoring_case("ETag", "ETa"));
  CHECK(starts_with_ignoring_case("Bytes 0-1", "bYTES "));
  CHECK_FALSE(starts_with_ignoring_case("byte", "bytes"));
}

TEST_CASE("whole numbers take all of a text", "[core]") {
  using mdstream::detail::whole_number;
  CHECK(whole_number<std::uint32_t>("4294967295") == 4294967295);
  CHECK(whole_number<std::uint64_t>("fF", 16) == 255);
  for (const std::string_view bad : {"", "-1", "+1", " 1", "1 ", "1x", "4294967296"})
    CHECK_FALSE(whole_number<std::uint32_t>(bad));
}
