#include <mdstream/core/detail/divisor.hpp>

#include "support/catch.hpp"
#include "support/seed.hpp"

#include <cstdint>
#include <random>
#include <vector>

TEST_CASE("a divisor divides as the machine does", "[core]") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  std::vector<std::uint64_t> numbers{0, 1, 2, 3, 5, 7, 10, 641, most, most - 1, most / 2};
  for (unsigned bit = 1; bit < 64; ++bit)
    for (const std::uint64_t near : {-1, 0, 1}) numbers.push_back((std::uint64_t{1} << bit) + near);
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100; ++i) numbers.push_back(random() >> (random() % 64));
  for (const std::uint64_t by : numbers) {
    if (by == 0) continue;
    const mdstream::detail::divisor divide(by);
    const auto check = [&](std::uint64_t n) {
      INFO(n << " / " << by);
      REQUIRE(divide(n).quotient == n / by);
      REQUIRE(divide(n).remainder == n % by);
    };
    for (const std::uint64_t n : numbers) check(n);
    // About multiples, where an inverse that is off by a little is wrong.
    for (const std::uint64_t n : numbers) {
      check(n / by * by);
      check(n / by * by - 1);
    }
  }
  CHECK(mdstream::detail::divisor()(77).quotient == 77);
}
