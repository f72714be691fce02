// Casts judged by the definition: the value that is nearest, of two as near the even one.
#include <mdstream/checkpoint/detail/cast.hpp>
#include <mdstream/format/dtype.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace checkpoint_cast_test {

namespace mds = mdstream;
using mds::tensor_type;
using mds::detail::find_cast;

template <class To, class From>
To cast(tensor_type from, tensor_type to, From value) {
  To out;
  find_cast(from, to).run(reinterpret_cast<const std::byte*>(&value),
                          reinterpret_cast<std::byte*>(&out), 1);
  return out;
}

/// The magnitude of 16 bits with so many of them for the mantissa, by their meaning. What comes
/// after the last number is worth what it would be if there were one more exponent.
double magnitude(std::uint32_t bits, int mantissa) {
  const int bias = mantissa == 10 ? 15 : 127;
  const int exponent = static_cast<int>(bits >> mantissa);
  const double fraction = bits & ((1U << mantissa) - 1);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias - mantissa)
                       : std::ldexp(fraction + (1U << mantissa), exponent - bias - mantissa);
}

/// By bisection, and looking at both neighbours.
std::uint16_t nearest(double value, int mantissa) {
  const double size = std::fabs(value);
  const std::uint32_t infinity = mantissa == 10 ? 0x7C00 : 0x7F80;
  std::uint32_t low = 0, high = infinity;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (magnitude(middle, mantissa) <= size ? low : high) = middle;
  }
  if (std::isinf(value)) low = infinity;
  if (low != infinity) {
    const double below = size - magnitude(low, mantissa), above = magnitude(high, mantissa) - size;
    if (below > above || (below == above && low % 2 == 1)) low = high;
  }
  return static_cast<std::uint16_t>(low | (std::signbit(value) ? 0x8000U : 0U));
}

struct narrow {
  tensor_type type;
  int mantissa;
};
constexpr narrow narrow_types[] = {{tensor_type::f16, 10}, {tensor_type::bf16, 7}};

}  // namespace checkpoint_cast_test

using namespace checkpoint_cast_test;

TEST_CASE("all 16-bit floats are exact as wider ones, and come back", "[checkpoint]") {
  for (const auto& [type, mantissa] : narrow_types) {
    const std::uint32_t infinity = mantissa == 10 ? 0x7C00 : 0x7F80;
    std::size_t same = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const auto wide = cast<float>(type, tensor_type::f32, half);
      const auto wider = cast<double>(type, tensor_type::f64, half);
      const std::uint32_t size = bits & 0x7FFF;
      if (size > infinity) {
        same += std::isnan(wide) && std::isnan(wider) &&
                (cast<std::uint16_t>(tensor_type::f32, type, wide) & 0x7FFFU) > infinity &&
                (cast<std::uint16_t>(tensor_type::f64, type, wider) & 0x7FFFU) > infinity;
        continue;
      }
      const double value =
          size == infinity ? std::numeric_limits<double>::infinity() : magnitude(size, mantissa);
      same += std::fabs(wider) == value && double{wide} == wider &&
              std::signbit(wide) == (bits >= 0x8000) &&
              cast<std::uint16_t>(tensor_type::f32, type, wide) == half &&
              cast<std::uint16_t>(tensor_type::f64, type, wider) == half;
    }
    CHECK(same == 0x10000);
  }
}

TEST_CASE("floats are rounded to the nearest 16-bit float, once", "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const auto& [type, mantissa] : narrow_types) {
    std::vector<double> values{
        0.0,     -0.0,    65504,  65519.999, 65520,
        1e300,   -1e300,  5e-324, 3.4e38,    std::numeric_limits<double>::infinity(),
        0x1p-24, 0x1p-25, 0x1p-26};
    for (int i = 0; i < 20'000; ++i) {
      // At, and next to, what lies in the middle of two neighbours; a float or between two floats.
      const auto bits = static_cast<std::uint32_t>(random() % (mantissa == 10 ? 0x7C00 : 0x7F80));
      const double middle = (magnitude(bits, mantissa) + magnitude(bits + 1, mantissa)) / 2;
      const double sign = random() % 2 == 0 ? 1 : -1;
      for (const double each : {middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e308),
                                double{std::nextafterf(static_cast<float>(middle), 0.0F)}})
        values.push_back(sign * each);
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
      values.push_back(std::bit_cast<double>(random()));
    }
    std::size_t wrong = 0, floats = 0;
    for (const double value : values) {
      if (std::isnan(value)) continue;
      const std::uint16_t wanted = nearest(value, mantissa);
      if (cast<std::uint16_t>(tensor_type::f64, type, value) != wanted && ++wrong == 1)
        FAIL_CHECK("F64 " << value << " is " << wanted << " as " << to_string(type));
      const auto single = static_cast<float>(value);
      if (double{single} != value) continue;
      ++floats;
      if (cast<std::uint16_t>(tensor_type::f32, type, single) != wanted && ++wrong == 1)
        FAIL_CHECK("F32 " << single << " is " << wanted << " as " << to_string(type));
    }
    CHECK(wrong == 0);
    CHECK(floats > 30'000);
  }
}

TEST_CASE("only floats are cast; runs of them wherever they lie", "[checkpoint]") {
  for (unsigned a = 0; a < 22; ++a)
    for (unsigned b = 0; b < 22; ++b) {
      const auto is_float = [](unsigned type) {
        const std::string_view name = to_string(static_cast<tensor_type>(type));
        return name == "F16" || name == "BF16" || name == "F32" || name == "F64";
      };
      const auto found = find_cast(static_cast<tensor_type>(a), static_cast<tensor_type>(b));
      CHECK((found.run != nullptr) == (is_float(a) && is_float(b)));
    }
  std::byte from[13], to[7];
  const float in[3] = {1, -2, 0.5};
  std::memcpy(from + 1, in, 12);
  find_cast(tensor_type::f32, tensor_type::bf16).run(from + 1, to + 1, 3);
  std::uint16_t out[3];
  std::memcpy(out, to + 1, 6);
  CHECK(out[0] == 0x3F80);
  CHECK(out[1] == 0xC000);
  CHECK(out[2] == 0x3F00);
}
