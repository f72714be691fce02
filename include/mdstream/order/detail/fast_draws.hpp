#pragma once

/// The draws of a Fisher-Yates shuffle without its branches: rejected values are overwritten, not
/// jumped over.

#include <mdstream/order/detail/numpy_random.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace mdstream::inline v0::detail {

/// Draws `interval(i)` for i = count - 1 down to 1 from the generator at `at`, and hands each to
/// `accept(i, value)`; also values that are rejected are handed over, before the one for the same i
/// that is not. Returns where the generator stands then. Everything goes by value to stay in
/// registers. Precondition: count <= 2^32.
template <class Accept>
[[nodiscard]] inline numpy::snapshot draw_intervals(numpy::snapshot at, numpy::uint128 increment,
                                                    std::uint64_t count, Accept accept) {
  if (count < 2) return at;
  std::uint64_t i = count - 1;
  const auto draw = [&i, &accept](std::uint64_t value) {
    accept(i, value);
    i -= value <= i ? 1 : 0;
  };
  const auto mask_of = [](std::uint64_t x) { return ~std::uint64_t{0} >> std::countl_zero(x); };
  if (at.has_half) {
    draw(at.half & mask_of(i));
    at.has_half = false;
    at.half = 0;
  }
  numpy::pcg64 bits(at.state, increment);
  const auto draw_two = [&] {
    const std::uint64_t both = bits();
    draw(both & 0xffff'ffff & mask_of(i));
    draw((both >> 32) & mask_of(i));
  };
  while (i > 32) {
    // The mask stays the same while i stays above half of it.
    const std::uint64_t mask = mask_of(i) & 0xffff'ffff, half = mask >> 1;
    while (i > half + 1) {
      const std::uint64_t both = bits();
      draw(both & mask);
      draw((both >> 32) & mask);
    }
    while (i > half) draw_two();
  }
  // Two draws bring i down by two at most, and the last one, for i = 1, is never rejected.
  while (i > 1) draw_two();
  if (i == 1) {
    const std::uint64_t both = bits();
    draw(both & 1);
    at.half = static_cast<std::uint32_t>(both >> 32);
    at.has_half = true;
  }
  at.state = bits.state();
  return at;
}

/// Where a generator stands after a shuffle of `count` items. Precondition: count <= 2^32.
[[nodiscard]] inline numpy::snapshot after_shuffle(const numpy::snapshot& at,
                                                   numpy::uint128 increment, std::uint64_t count) {
  return draw_intervals(at, increment, count, [](std::uint64_t, std::uint64_t) {});
}

/// Writes what `shuffle` makes of 0 … out.size() - 1. `scratch` has the same size, up to 2^32.
inline void shuffled_indices(const numpy::snapshot& at, numpy::uint128 increment,
                             std::span<std::uint32_t> out, std::span<std::uint32_t> scratch) {
  std::uint32_t* const partner = scratch.data();
  static_cast<void>(draw_intervals(
      at, increment, out.size(),
      [partner](std::uint64_t i, std::uint64_t j) { partner[i] = static_cast<std::uint32_t>(j); }));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = out.size(); i-- > 1;) std::swap(out[i], out[partner[i]]);
}

/// Jumps of one generator by any distance, a multiplication for each set bit of it.
class jump_table {
 public:
  explicit jump_table(numpy::uint128 increment) {
    numpy::uint128 mul = numpy::pcg64::multiplier, add = increment;
    for (power& p : powers_) {
      p = {mul, add};
      add *= mul + 1;
      mul *= mul;
    }
  }

  [[nodiscard]] numpy::uint128 operator()(numpy::uint128 state,
                                          std::uint64_t draws) const noexcept {
    for (; draws != 0; draws &= draws - 1) {
      const power& p = powers_[static_cast<std::size_t>(std::countr_zero(draws))];
      state = state * p.mul + p.add;
    }
    return state;
  }

 private:
  struct power {
    numpy::uint128 mul, add;
  };
  std::array<power, 64> powers_{};
};

}  // namespace mdstream::inline v0::detail
