#include <mdstream/core/json/number.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace json_number_test {

std::string repr(double value) {
  std::string out;
  mdstream::json::append_repr(out, value);
  return out;
}

}  // namespace json_number_test

TEST_CASE("a text begins with a number of this length, or with none", "[json]") {
  struct each {
    const char* text;
    std::size_t size;
    bool real;
  };
  for (const each& of : {each{"17,", 2, false},
                         {"-0", 2, false},
                         {"012", 1, false},
                         {"1.5]", 3, true},
                         {"1.", 1, false},
                         {"1.e3", 1, false},
                         {"2e", 1, false},
                         {"2e+", 1, false},
                         {"2E-07x", 5, true},
                         {"0.0e0", 5, true},
                         {"NaN", 3, true},
                         {"-Infinity", 9, true},
                         {"Infinit", 0, false},
                         {"-NaN", 0, false},
                         {"-", 0, false},
                         {"+1", 0, false},
                         {".5", 0, false},
                         {"", 0, false}}) {
    INFO(of.text);
    const mdstream::json::number_scan found = mdstream::json::scan_number(of.text);
    CHECK(found.size == of.size);
    CHECK(found.real == of.real);
  }
}

TEST_CASE("numbers beyond the range of a double are infinite or zero, with their sign", "[json]") {
  using mdstream::json::to_double;
  constexpr double most = std::numeric_limits<double>::infinity();
  CHECK(to_double("1e309") == most);
  CHECK(to_double("-1e309") == -most);
  CHECK(to_double("1" + std::string(400, '0')) == most);
  CHECK(to_double("0." + std::string(400, '0') + "1") == 0.0);
  CHECK(to_double("0." + std::string(400, '0') + "1e800") == most);
  CHECK(to_double("1e99999999999999999999") == most);
  CHECK(to_double("1e-99999999999999999999") == 0.0);
  CHECK(std::signbit(to_double("-1e-400")));
  CHECK(std::isnan(to_double("NaN")));
}

TEST_CASE("floats have Python's repr", "[json]") {
  using json_number_test::repr;
  CHECK(repr(0.0) == "0.0");
  CHECK(repr(-0.0) == "-0.0");
  CHECK(repr(1.0) == "1.0");
  CHECK(repr(100.0) == "100.0");
  CHECK(repr(0.1) == "0.1");
  CHECK(repr(0.0001) == "0.0001");
  CHECK(repr(0.00001) == "1e-05");
  CHECK(repr(123456.789) == "123456.789");
  CHECK(repr(1e15) == "1000000000000000.0");
  CHECK(repr(1e16) == "1e+16");
  CHECK(repr(1.2345678901234568e17) == "1.2345678901234568e+17");
  CHECK(repr(1e22) == "1e+22");
  CHECK(repr(1.5e300) == "1.5e+300");
  CHECK(repr(5e-324) == "5e-324");
  CHECK(repr(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(repr(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(repr(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(repr(std::numeric_limits<double>::quiet_NaN()) == "nan");
}

TEST_CASE("every double survives its text", "[json]") {
  const unsigned seed = support::test_seed(GENERATE(range(0U, 3U)));
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 5000; ++i) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    std::string text;
    mdstream::json::append_number(text, value);
    const double back = mdstream::json::to_double(text);
    REQUIRE(std::memcmp(&back, &value, sizeof value) == 0);
  }
}
