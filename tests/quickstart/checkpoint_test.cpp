#include "quickstart/checkpoint.hpp"

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace checkpoint_test {

constexpr quickstart::adam_options optimizer{.rate = 1e-2, .warm_up = 1, .steps = 6};

struct run {
  quickstart::alone exchange;
  quickstart::trainer<quickstart::alone> trainer;
  explicit run(std::size_t hidden = 32)
      : trainer({.context = 2, .hidden = hidden}, optimizer, exchange, 1) {}

  double step(std::uint64_t number) {
    const std::vector<std::uint8_t> row(10, static_cast<std::uint8_t>('a' + number));
    return trainer.step(number, 6, [&](std::size_t) { return std::span<const std::uint8_t>(row); });
  }
};

}  // namespace checkpoint_test

TEST_CASE("a run goes on from a checkpoint to the same bits", "[quickstart]") {
  checkpoint_test::run whole;
  for (std::uint64_t step = 0; step < 3; ++step) whole.step(step);
  const auto bytes = quickstart::pack({.step = 3, .loader_state = "{\"epoch\": 1}"}, whole.trainer);
  for (std::uint64_t step = 3; step < 6; ++step) whole.step(step);

  checkpoint_test::run other;
  const auto then = quickstart::unpack(bytes, other.trainer);
  CHECK(then.step == 3);
  CHECK(then.loader_state == "{\"epoch\": 1}");
  for (std::uint64_t step = 3; step < 6; ++step) other.step(step);
  CHECK(other.trainer.parameters() == whole.trainer.parameters());
}

TEST_CASE("a checkpoint that is cut short or of another model is refused", "[quickstart]") {
  checkpoint_test::run small, large(64);
  const auto bytes = quickstart::pack({}, small.trainer);
  CHECK_THROWS_AS(quickstart::unpack(bytes, large.trainer), std::runtime_error);
  for (std::size_t size = 0; size < bytes.size(); size += 997) {
    CHECK_THROWS_AS(quickstart::unpack(std::span(bytes).first(size), small.trainer),
                    std::runtime_error);
  }
}
