#include <mdstream/order/detail/sampling.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <vector>

namespace sampling_test {

std::vector<std::int64_t> sample_case(const golden::json& c) {
  const auto sizes =
      c.contains("sizes") ? golden::sizes(c["sizes"], false) : golden::sizes(c["sizes_rle"], true);
  const auto counts = mdstream::detail::sample_shards(
      sizes, *golden::count_of(c["choose"]), *golden::count_of(c["granularity"]),
      *golden::count_of(c["seed"]), *golden::count_of(c["epoch"]), c["use_epoch"].get<bool>());
  return {counts.begin(), counts.end()};
}

TEST_CASE("shards are sampled as in the reference", "[order][golden]") {
  const auto file = golden::load("sampling");
  for (const auto& c : file["cases"]) {
    INFO(c);
    if (c.contains("error"))
      support::expect_same_refusal([&] { (void)sample_case(c); }, c["error"]);
    else
      CHECK(golden::same_ids(c, sample_case(c)));
  }
}

TEST_CASE("sampling refuses sizes that it could not hold before it allocates", "[order]") {
  const std::vector<std::uint64_t> huge{1ULL << 40};
  support::expect_error(
      [&] { static_cast<void>(mdstream::detail::sample_shards(huge, 1, 1, 0, 0, true)); },
      mdstream::errc::unsupported, {"granularity"});
  const std::vector<std::uint64_t> sum_wraps{1ULL << 62, 1ULL << 62};
  support::expect_error(
      [&] { static_cast<void>(mdstream::detail::sample_shards(sum_wraps, 1, 1, 0, 0, true)); },
      mdstream::errc::invalid_argument, {"2^63"});
}

}  // namespace sampling_test
