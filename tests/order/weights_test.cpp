#include <mdstream/order/detail/weights.hpp>

#include "order/golden.hpp"
#include "order/weight_of.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/reference_errors.hpp"

#include <limits>
#include <optional>
#include <vector>

namespace weights_test {

using mdstream::errc;
using mdstream::stream_weight;

mdstream::detail::stream_mix mix_of_case(const golden::json& c) {
  std::vector<stream_weight> weights;
  for (const auto& w : c["weights"]) weights.push_back(golden::weight_of(w));
  const auto epoch_size = golden::count_of(c["epoch_size"]);
  return mdstream::detail::mix_streams(weights, c["samples"].get<std::vector<std::uint64_t>>(),
                                       epoch_size, golden::number(c["seed"]));
}

bool same_doubles(const std::vector<double>& got, const golden::json& expected) {
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!golden::same_double(got[i], expected[i])) return false;
  return got.size() == expected.size();
}

TEST_CASE("weights become numbers of samples as in the reference", "[order][golden]") {
  const auto file = golden::load("weights");
  for (const auto& c : file["cases"]) {
    INFO(c);
    if (c.contains("error")) {
      support::expect_same_refusal([&] { static_cast<void>(mix_of_case(c)); }, c["error"]);
      continue;
    }
    const auto mix = mix_of_case(c);
    CHECK(mix.epoch_size == golden::number(c["out"]["epoch_size"]));
    CHECK(mix.choose == c["out"]["choose"].get<std::vector<std::uint64_t>>());
    CHECK(same_doubles(mix.proportion, c["out"]["proportion"]));
    CHECK(same_doubles(mix.repeat, c["out"]["repeat"]));
  }
}

TEST_CASE("weights that are no numbers are refused", "[order]") {
  const std::vector<std::uint64_t> sizes{10, 20};
  const auto refuse = [&](stream_weight w, std::optional<std::uint64_t> epoch_size,
                          std::initializer_list<std::string_view> pieces) {
    const std::vector<stream_weight> weights{w, w};
    support::expect_error(
        [&] { static_cast<void>(mdstream::detail::mix_streams(weights, sizes, epoch_size, 0)); },
        errc::invalid_argument, pieces);
  };
  // As bytes of a file would bring them: clang takes every other double for a number under
  // -ffast-math.
  const volatile std::uint64_t nan_bits = 0x7ff8'0000'0000'0000,
                               infinity_bits = 0x7ff0'0000'0000'0000;
  const auto nan = std::bit_cast<double>(std::uint64_t{nan_bits});
  const auto infinity = std::bit_cast<double>(std::uint64_t{infinity_bits});
  refuse({.proportion = nan}, {}, {"stream 0"});
  refuse({.repeat = infinity}, {}, {"stream 0"});
  refuse({.proportion = -0.5}, {}, {"-0.5"});
  refuse({.proportion = 0.0}, {}, {});
  refuse({.repeat = 1e300}, {}, {"out of range"});
  refuse({.choose = std::uint64_t{1} << 62}, {}, {"2^63"});
  refuse({}, ~std::uint64_t{0}, {"2^63"});
  refuse({.repeat = 1.0}, 100, {"100"});
  const std::vector<stream_weight> none(2);
  const std::vector<std::uint64_t> with_empty{10, 0};
  support::expect_error(
      [&] { static_cast<void>(mdstream::detail::mix_streams(none, with_empty, {}, 0)); },
      errc::invalid_argument, {"stream 1"});
}

}  // namespace weights_test
