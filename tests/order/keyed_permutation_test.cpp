#include <mdstream/order/detail/keyed_permutation.hpp>

#include "order/golden.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

namespace keyed_permutation_test {

using mdstream::detail::keyed_permutation;
using mdstream::detail::windowed_permutation;

template <class Permutation>
std::vector<std::int64_t> all_of(const Permutation& p) {
  std::vector<std::int64_t> out;
  for (std::uint64_t x = 0; x < p.size(); ++x) out.push_back(static_cast<std::int64_t>(p(x)));
  return out;
}

bool is_permutation_of_all(std::vector<std::int64_t> values) {
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

/// What a keyed permutation takes to `y`, by the definition of its rounds.
std::uint64_t undo(std::uint64_t size, std::uint64_t key, std::uint64_t y) {
  using mdstream::detail::derive_key;
  const int bits = static_cast<int>(std::bit_width(size - 1));
  const std::uint64_t mask = bits == 0 ? 0 : ~std::uint64_t{0} >> (64 - bits);
  const int shift = (bits + 1) / 2;  // at least half of the bits, so that it undoes itself
  const auto reciprocal = [](std::uint64_t odd) {  // modulo 2^64, by Newton's iteration
    std::uint64_t out = odd;
    for (int correct_bits = 3; correct_bits < 64; correct_bits *= 2) out *= 2 - odd * out;
    return out;
  };
  do {
    for (std::uint64_t round = 12; round-- > 0;) {
      if (bits > 0) y ^= y >> shift;
      y = (y * reciprocal(derive_key(key, 2 * round + 1) | 1) - derive_key(key, 2 * round)) & mask;
    }
  } while (y >= size);
  return y;
}

TEST_CASE("keyed permutations are one to one and can be undone", "[order]") {
  for (const std::uint64_t n : {1ULL, 2ULL, 3ULL, 5ULL, 16ULL, 17ULL, 100ULL, 1000ULL, 4097ULL}) {
    const keyed_permutation p(n, 7 * n);
    CHECK(is_permutation_of_all(all_of(p)));
    for (std::uint64_t x = 0; x < n; ++x) REQUIRE(undo(n, 7 * n, p(x)) == x);
  }
  constexpr std::uint64_t most = ~std::uint64_t{0};
  const keyed_permutation huge(most, 5);
  for (const std::uint64_t x : {std::uint64_t{0}, std::uint64_t{12345}, most - 1})
    CHECK(undo(most, 5, huge(x)) == x);
}

TEST_CASE("keyed permutations give these values for ever", "[order][golden]") {
  using row = std::vector<std::int64_t>;
  CHECK(all_of(keyed_permutation(10, 0)) == row{0, 5, 4, 2, 1, 3, 6, 7, 8, 9});
  CHECK(all_of(keyed_permutation(7, 9176)) == row{0, 1, 5, 2, 3, 4, 6});
  CHECK(golden::hash<std::int64_t>(all_of(keyed_permutation(100000, 42))) == "02178182679834ad");
  CHECK(golden::hash<std::int64_t>(all_of(windowed_permutation(100000, 3000, 42))) ==
        "7748e71f422b0b9d");
  CHECK(keyed_permutation(1'000'000'000'000, 1)(123'456'789'012) == 904390630978);
}

TEST_CASE("small permutations come up equally often", "[order][statistics]") {
  constexpr int keys = 60000;
  for (const int n : {2, 3, 4, 5}) {
    std::map<std::vector<std::int64_t>, int> seen;
    for (int k = 0; k < keys; ++k)
      ++seen[all_of(keyed_permutation(static_cast<std::uint64_t>(n),
                                      mdstream::detail::mix_bits(static_cast<std::uint64_t>(k))))];
    double factorial = 1;
    for (int i = 2; i <= n; ++i) factorial *= i;
    REQUIRE(static_cast<double>(seen.size()) == factorial);
    double chi_square = 0;
    for (const auto& [order, count] : seen)
      chi_square += std::pow(count - keys / factorial, 2) / (keys / factorial);
    INFO("n " << n << " chi square " << chi_square);
    CHECK(chi_square < factorial - 1 + 5 * std::sqrt(2 * (factorial - 1)));
  }
}

/// Standard deviations by which the correlation of neighbours `lag` apart is off from none.
template <class Permutation>
double serial_correlation(const Permutation& p, std::uint64_t lag) {
  const auto n = static_cast<double>(p.size());
  double sum = 0;
  for (std::uint64_t x = 0; x + lag < p.size(); ++x)
    sum +=
        (static_cast<double>(p(x)) - (n - 1) / 2) * (static_cast<double>(p(x + lag)) - (n - 1) / 2);
  return sum / ((n * n - 1) / 12) / std::sqrt(n - static_cast<double>(lag));
}

/// Standard deviations by which differences of neighbours are off from equally frequent.
template <class Permutation>
double difference_excess(const Permutation& p, std::uint64_t lag) {
  constexpr std::size_t bins = 256;
  std::vector<double> count(bins);
  const std::uint64_t n = p.size();
  for (std::uint64_t x = 0; x + lag < n; ++x) count[(p(x + lag) + n - p(x)) % n * bins / n] += 1;
  const double expected = static_cast<double>(n - lag) / bins;
  double chi_square = 0;
  for (const double c : count) chi_square += (c - expected) * (c - expected) / expected;
  return (chi_square - (bins - 1)) / std::sqrt(2.0 * (bins - 1));
}

TEST_CASE("neighbours in a large permutation have nothing to do with each other",
          "[order][statistics]") {
  for (const std::uint64_t n : {4096ULL, 131072ULL, 250000ULL})
    for (const std::uint64_t lag : {1ULL, 2ULL, 64ULL, 1024ULL}) {
      INFO("n " << n << " lag " << lag);
      const keyed_permutation p(n, n + lag);
      CHECK(std::abs(serial_correlation(p, lag)) < 5);
      CHECK(difference_excess(p, lag) < 6);
    }
}

TEST_CASE("windows move nothing too far, and most samples far enough", "[order][statistics]") {
  for (const std::uint64_t window : {2ULL, 10ULL, 999ULL, 3000ULL}) {
    const windowed_permutation p(20000, window, 3);
    const auto values = all_of(p);
    CHECK(is_permutation_of_all(values));
    double moved = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto distance = std::abs(values[i] - static_cast<std::int64_t>(i));
      REQUIRE(static_cast<std::uint64_t>(distance) < std::max<std::uint64_t>(window, 2));
      moved += static_cast<double>(distance) / static_cast<double>(values.size());
    }
    // py1e moves a sample by a quarter of the block size on average.
    if (window > 100) CHECK(moved == Approx(0.26 * static_cast<double>(window)).epsilon(0.05));
  }
}

}  // namespace keyed_permutation_test
