#pragma once

/// Integer arithmetic that reports instead of wrapping: every size, seed and world of an order
/// comes from outside.

#include <mdstream/core/error.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0::detail {

/// Sample ids are 64-bit signed, -1 is padding.
inline constexpr std::uint64_t max_samples = std::numeric_limits<std::int64_t>::max();

[[noreturn]] inline void refuse(std::string what) {
  throw error(errc::invalid_argument, std::move(what));
}

/// What a negative number has become in an unsigned one is said as it was meant.
template <std::unsigned_integral T>
void refuse_negative(const char* name, T value) {
  if (value <= std::numeric_limits<std::make_signed_t<T>>::max()) return;
  refuse(std::string(name) +
         " is negative: " + std::to_string(static_cast<std::make_signed_t<T>>(value)));
}
template <std::unsigned_integral T>
void refuse_negative(const char* name, const std::optional<T>& value) {
  if (value) refuse_negative(name, *value);
}

/// `a + b`, or an error that names the quantity.
[[nodiscard]] inline std::uint64_t checked_add(std::uint64_t a, std::uint64_t b, const char* what) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > max_samples)
    refuse(std::string(what) + " exceeds 2^63: " + std::to_string(a) + " + " + std::to_string(b));
  return sum;
}

/// `a * b`, or an error that names the quantity.
[[nodiscard]] inline std::uint64_t checked_mul(std::uint64_t a, std::uint64_t b, const char* what) {
  std::uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > max_samples)
    refuse(std::string(what) + " exceeds 2^63: " + std::to_string(a) + " * " + std::to_string(b));
  return product;
}

/// `a * b / c` with a product of 128 bits; the result must fit (b <= c, or checked before).
[[nodiscard]] inline std::uint64_t mul_div(std::uint64_t a, std::uint64_t b,
                                           std::uint64_t c) noexcept {
  __extension__ using wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<wide>(a) * b / c);
}

[[nodiscard]] constexpr bool one_divides_other(std::uint64_t a, std::uint64_t b) noexcept {
  return a < b ? b % a == 0 : a % b == 0;
}

[[nodiscard]] constexpr std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace mdstream::inline v0::detail
