#include <mdstream/order/detail/numpy_math.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"

#include <vector>

namespace numpy_math_test {

namespace numpy = mdstream::numpy;

TEST_CASE("argsort orders as NumPy's scalar code, equal keys included", "[order][golden]") {
  const auto file = golden::load("rng");
  for (const auto& c : file["argsort"]) {
    std::vector<double> keys;
    for (const auto& v : c["v"]) keys.push_back(golden::real(v));
    CHECK(numpy::argsort(keys) == c["out"].get<std::vector<std::uint64_t>>());
  }
}

TEST_CASE("argsort survives input that defeats the median of three", "[order]") {
  constexpr std::size_t n = 4096, half = n / 2;
  std::vector<double> keys(n);
  for (std::size_t i = 1; i <= half; ++i) {
    if (i & 1) {
      keys[i - 1] = static_cast<double>(i);
      keys[i] = static_cast<double>(half + i);
    }
    keys[half + i - 1] = static_cast<double>(2 * i);
  }
  const auto order = numpy::argsort(keys);
  REQUIRE(order.size() == n);
  std::vector<bool> seen(n);
  for (std::size_t i = 0; i < n; ++i) {
    CHECK_FALSE(seen[order[i]]);
    seen[order[i]] = true;
    if (i > 0) CHECK(keys[order[i - 1]] <= keys[order[i]]);
  }
}

TEST_CASE("sums round pairwise", "[order]") {
  // One large value first: added one by one, every following 1.0 is lost.
  std::vector<double> values(300, 1.0);
  values[0] = 9007199254740992.0;
  CHECK(numpy::sum(std::span(values).first(7)) == 9007199254740992.0);
  CHECK(numpy::sum(std::span(values).first(8)) == 9007199254740998.0);
  CHECK(numpy::sum(std::span(values).first(16)) == 9007199254741006.0);
  CHECK(numpy::sum({}) == 0.0);
  std::vector<double> tenths(129, 0.1);
  CHECK(numpy::sum(tenths) == 12.899999999999999);
}

}  // namespace numpy_math_test
