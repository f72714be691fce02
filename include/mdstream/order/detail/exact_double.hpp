#pragma once

/// Double arithmetic in which every operation rounds once, whatever the user's flags: no fused
/// multiply-add, no reassociation, no division by way of a reciprocal. One fused operation more or
/// less changes the order of samples.

#include <bit>
#include <cstdint>
#include <type_traits>

namespace mdstream::inline v0::detail {

/// The value, opaque to the optimiser.
[[nodiscard]] inline double pin(double x) noexcept {
#if defined(__x86_64__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#else
  volatile double kept = x;
  x = kept;
#endif
  return x;
}

[[nodiscard]] inline double exact_add(double a, double b) noexcept { return pin(pin(a) + pin(b)); }
[[nodiscard]] inline double exact_mul(double a, double b) noexcept { return pin(pin(a) * pin(b)); }

/// `a / b`. The divisor is kept from being hoisted, or -ffast-math would multiply by its
/// reciprocal.
[[nodiscard]] inline double exact_div(double a, double b) noexcept {
#if defined(__x86_64__)
  asm volatile("" : "+x"(b));
#elif defined(__aarch64__)
  asm volatile("" : "+w"(b));
#endif
  return pin(pin(a) / pin(b));
}

/// Neither infinite nor NaN; asked of the bits, because -ffast-math answers "yes" unseen. By
/// reference, and of bits that the optimiser cannot see through: clang takes a double that is
/// passed for a number then.
[[nodiscard]] constexpr bool is_finite(const double& x) noexcept {
  auto bits = std::bit_cast<std::uint64_t>(x);
  if (!std::is_constant_evaluated()) asm("" : "+r"(bits));
  return (bits >> 52 & 0x7ff) != 0x7ff;
}

/// A quiet NaN that -ffast-math does not warn about.
[[nodiscard]] constexpr double not_a_number() noexcept {
  return std::bit_cast<double>(std::uint64_t{0x7ff8'0000'0000'0000});
}

}  // namespace mdstream::inline v0::detail
