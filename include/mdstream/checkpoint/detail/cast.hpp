#pragma once

/// Elements of one floating-point type as those of another, each rounded once: to the nearest, of
/// two as near to the even one. NaN stays NaN, what is too large becomes infinite.

#include <mdstream/checkpoint/tensor_type.hpp>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// The upper half of a float.
struct bfloat16 {
  std::uint16_t bits;

  bfloat16() = default;
  explicit bfloat16(float value) noexcept : bits(round(std::bit_cast<std::uint32_t>(value))) {}
  explicit bfloat16(double value) noexcept : bits(round(to_odd(value))) {}
  operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static std::uint16_t round(std::uint32_t whole) noexcept {
    const bool is_nan = (whole & 0x7FFF'FFFFU) > 0x7F80'0000U;
    const std::uint32_t rounded = whole + 0x7FFFU + (whole >> 16 & 1U);
    return static_cast<std::uint16_t>((is_nan ? whole | 0x40'0000U : rounded) >> 16);
  }

  /// Of an inexact value the float whose last bit is set: to round it again is to round once.
  static std::uint32_t to_odd(double value) noexcept {
    const auto near = static_cast<float>(value);
    const auto bits = std::bit_cast<std::uint32_t>(near);
    if (static_cast<double>(near) == value || std::isnan(value)) return bits;
    return (std::fabs(double{near}) > std::fabs(value) ? bits - 1 : bits) | 1U;
  }
};

/// Packed elements; neither side has to be aligned.
using cast_function = void (*)(const std::byte* from, std::byte* to, std::size_t count);

struct element_cast {
  cast_function run = nullptr;  ///< null: bytes are copied as they are
  unsigned from = 1;            ///< bytes of an element
  unsigned to = 1;
};

/// Between F16, BF16, F32 and F64; no function for other types.
[[nodiscard]] element_cast find_cast(tensor_type from, tensor_type to) noexcept;

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/cast.ipp>
#endif
