#pragma once

/// The draws of a Fisher-Yates shuffle without its branches: rejected values are overwritten, not
/// jumped over.

#include <mdstream/order/numpy_random.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mdstream::inline v0::detail {

/// Draws `interval(i)` for i = count - 1 down to 1 and hands each to `accept(i, value)`; also
/// values that are rejected are handed over, before the one for the same i that is not.
/// Precondition: count <= 2^32.
template <class Accept>
void draw_intervals(numpy::generator& random, std::uint64_t count, Accept accept) {
  if (count < 2) return;
  std::uint64_t i = count - 1;
  const auto try_one = [&](std::uint64_t value) {
    accept(i, value);
    i -= value <= i ? 1 : 0;
  };
  while (i > 0) {
    // The mask stays the same while i stays above half of it.
    const std::uint64_t mask = ~std::uint64_t{0} >> std::countl_zero(i);
    const std::uint64_t half = mask >> 1;
    if (random.has_half()) try_one(random.next32() & mask);
    if (i > half + 1) {
      numpy::pcg64 bits = random.bits();
      do {
        const std::uint64_t both = bits();
        try_one(both & mask);
        try_one((both >> 32) & mask);
      } while (i > half + 1);
      random.continue_from(bits);
    }
    while (i > half) try_one(random.next32() & mask);
  }
}

/// Consumes the draws of a shuffle of `count` items.
inline void skip_shuffle(numpy::generator& random, std::uint64_t count) {
  for (; count > std::uint64_t{1} << 32; --count) static_cast<void>(random.interval(count - 1));
  draw_intervals(random, count, [](std::uint64_t, std::uint64_t) {});
}

/// Writes what `shuffle` makes of 0 … out.size() - 1. `scratch` has the same size.
inline void shuffled_indices(numpy::generator& random, std::span<std::uint32_t> out,
                             std::span<std::uint32_t> scratch) {
  draw_intervals(random, out.size(), [partner = scratch.data()](std::uint64_t i, std::uint64_t j) {
    partner[i] = static_cast<std::uint32_t>(j);
  });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = out.size(); i-- > 1;) std::swap(out[i], out[scratch[i]]);
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
