#include <mdstream/format/dtype.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "format/golden.hpp"
#include "support/catch.hpp"

namespace dtype_test {

std::uint16_t half(double value) { return mdstream::float16(value).bits; }

}  // namespace dtype_test

TEST_CASE("dtypes have NumPy's names and sizes, and the ids of the format", "[dtype]") {
  using mdstream::dtype;
  for (const dtype type : mdstream::all_dtypes) {
    CHECK(mdstream::find_dtype(mdstream::to_string(type)) == type);
    CHECK(mdstream::find_dtype(static_cast<std::uint8_t>(type)) == type);
    const bool same = mdstream::visit_dtype(
        type, []<class T>(T) { return mdstream::size_of(mdstream::dtype_of<T>) == sizeof(T); });
    CHECK(same);
    CHECK(mdstream::visit_dtype(type, []<class T>(T) { return mdstream::dtype_of<T>; }) == type);
  }
  CHECK_FALSE(mdstream::find_dtype("bool"));
  CHECK_FALSE(mdstream::find_dtype(std::uint8_t{0}));
  CHECK_FALSE(mdstream::find_dtype(std::uint8_t{7}));
  static_assert(mdstream::dtype_of<long long> == dtype::int64);
  static_assert(mdstream::dtype_of<const float> == dtype::float32);
  static_assert(!mdstream::element<bool> && !mdstream::element<char> && !mdstream::element<void>);
}

TEST_CASE("float16 rounds as NumPy does", "[dtype]") {
  const auto golden = format_golden::read_json(format_golden::root() + "encodings.json");
  int checked = 0;
  for (const auto& each : golden.at("encode")) {
    if (each.at("encoding") != "float16" || !each.contains("hex")) continue;
    if (each.at("value").at("t") != "float") continue;
    const std::string bytes = format_golden::from_hex(each.at("hex").get<std::string>());
    std::uint16_t expected;
    std::memcpy(&expected, bytes.data(), 2);
    INFO(each.dump());
    CHECK(dtype_test::half(format_golden::double_of(each.at("value"))) == expected);
    ++checked;
  }
  CHECK(checked >= 10);
}

TEST_CASE("float16 halfway cases go to even, and beyond the range to infinity", "[dtype]") {
  using dtype_test::half;
  CHECK(half(2049.0) == half(2048.0));
  CHECK(half(2051.0) == half(2052.0));
  CHECK(half(std::nextafter(2049.0, 3000.0)) == half(2050.0));
  CHECK(half(65519.999) == 0x7BFF);
  CHECK(half(65520.0) == 0x7C00);
  CHECK(half(-65520.0) == 0xFC00);
  CHECK(half(0x1p-24) == 1);
  CHECK(half(0x1p-25) == 0);
  CHECK(half(std::nextafter(0x1p-25, 1.0)) == 1);
  CHECK(half(0x1p-14) == 0x0400);
  CHECK(half(std::nextafter(0x1p-14, 0.0)) == 0x0400);
  CHECK(half(-0.0) == 0x8000);
  CHECK(half(5e-324) == 0);
}

TEST_CASE("every float16 is a float and comes back", "[dtype]") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto value = mdstream::float16::from_bits(static_cast<std::uint16_t>(bits));
    const float wide = value;
    if (std::isnan(wide)) {
      REQUIRE((bits & 0x7C00U) == 0x7C00U);
      REQUIRE((mdstream::float16(double{wide}).bits & 0x7FFFU) > 0x7C00U);
      continue;
    }
    REQUIRE(mdstream::float16(double{wide}).bits == bits);
  }
}
