#pragma once

/// The eleven element types of datasets and batches, and the half-precision type that C++20 lacks.
/// Usable in kernels.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// The type of the elements of an array. The values are the ids in the header of an MDS `ndarray`
/// value; 0 stands for "not known before the value is seen".
enum class dtype : std::uint8_t {
  none = 0,
  uint8 = 8,
  int8 = 9,
  uint16 = 16,
  int16 = 17,
  float16 = 18,
  uint32 = 32,
  int32 = 33,
  float32 = 34,
  uint64 = 64,
  int64 = 65,
  float64 = 66,
};

/// Bytes of one element: 1, 2, 4 or 8; 0 for `none`.
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::size_t size_of(dtype type) noexcept {
  return (static_cast<std::size_t>(type) & 0x78) >> 3;
}

/// Whether values of this type are floating-point numbers.
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr bool is_floating(dtype type) noexcept {
  return type == dtype::float16 || type == dtype::float32 || type == dtype::float64;
}

inline constexpr std::array all_dtypes{dtype::uint8,   dtype::int8,   dtype::uint16, dtype::int16,
                                       dtype::float16, dtype::uint32, dtype::int32,  dtype::float32,
                                       dtype::uint64,  dtype::int64,  dtype::float64};

/// NumPy's name: "uint16", "float32"; "none" for `none`.
[[nodiscard]] constexpr std::string_view to_string(dtype type) noexcept {
  switch (type) {
    case dtype::uint8: return "uint8";
    case dtype::int8: return "int8";
    case dtype::uint16: return "uint16";
    case dtype::int16: return "int16";
    case dtype::float16: return "float16";
    case dtype::uint32: return "uint32";
    case dtype::int32: return "int32";
    case dtype::float32: return "float32";
    case dtype::uint64: return "uint64";
    case dtype::int64: return "int64";
    case dtype::float64: return "float64";
    case dtype::none: break;
  }
  return "none";
}

/// The type of that name, or nothing.
[[nodiscard]] constexpr std::optional<dtype> find_dtype(std::string_view name) noexcept {
  for (const dtype type : all_dtypes)
    if (to_string(type) == name) return type;
  return std::nullopt;
}

/// The type with that id in an MDS `ndarray` header, or nothing.
[[nodiscard]] constexpr std::optional<dtype> find_dtype(std::uint8_t id) noexcept {
  for (const dtype type : all_dtypes)
    if (static_cast<std::uint8_t>(type) == id) return type;
  return std::nullopt;
}

/// IEEE 754 binary16. Holds bits; arithmetic happens in float.
struct float16 {
  std::uint16_t bits;

  float16() = default;

  /// Rounds to nearest, ties to even, once, as NumPy does: 65520 and more become infinity.
  MDSTREAM_HOST_DEVICE constexpr explicit float16(double value) noexcept : bits(round(value)) {}

  [[nodiscard]] MDSTREAM_HOST_DEVICE static constexpr float16 from_bits(
      std::uint16_t bits) noexcept {
    float16 half(0.0);
    half.bits = bits;
    return half;
  }

  /// Exact: every half is a float.
  MDSTREAM_HOST_DEVICE constexpr operator float() const noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1FU;
    const std::uint32_t mantissa = bits & 0x3FFU;
    if (exponent == 0x1F) return __builtin_bit_cast(float, sign | 0x7F800000U | (mantissa << 13));
    if (exponent != 0)
      return __builtin_bit_cast(float, sign | ((exponent + 112) << 23) | (mantissa << 13));
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24F;
    return sign != 0 ? -magnitude : magnitude;
  }

 private:
  MDSTREAM_HOST_DEVICE static constexpr std::uint16_t round(double value) noexcept {
    const auto whole = __builtin_bit_cast(std::uint64_t, value);
    const auto sign = static_cast<std::uint64_t>((whole >> 48) & 0x8000U);
    const std::uint64_t magnitude = whole & 0x7FFF'FFFF'FFFF'FFFFU;
    const auto with_sign = [sign](std::uint64_t half) {
      return static_cast<std::uint16_t>(sign | half);
    };
    constexpr std::uint64_t infinity = 0x7FF0'0000'0000'0000U;
    constexpr std::uint64_t overflow = 0x40EF'FE00'0000'0000U;         // 65520
    constexpr std::uint64_t smallest_normal = 0x3F10'0000'0000'0000U;  // 2^-14
    if (magnitude > infinity) return with_sign(0x7E00U | ((magnitude >> 42) & 0x3FFU));
    if (magnitude >= overflow) return with_sign(0x7C00U);
    if (magnitude >= smallest_normal)
      return with_sign(shift_rounding(magnitude - (std::uint64_t{1023 - 15} << 52), 42));
    const std::uint64_t exponent = magnitude >> 52;
    if (exponent < 1023 - 25) return with_sign(0);
    const std::uint64_t mantissa =
        (magnitude & ((std::uint64_t{1} << 52) - 1)) | (std::uint64_t{1} << 52);
    return with_sign(shift_rounding(mantissa, static_cast<unsigned>(42 + (1023 - 14) - exponent)));
  }

  MDSTREAM_HOST_DEVICE static constexpr std::uint64_t shift_rounding(std::uint64_t value,
                                                                     unsigned shift) noexcept {
    const std::uint64_t kept = value >> shift;
    const std::uint64_t rest = value & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    return kept + ((rest > half || (rest == half && (kept & 1U) != 0)) ? 1U : 0U);
  }
};

static_assert(sizeof(float16) == 2 && std::is_trivial_v<float16>);

namespace detail {

template <class T>
[[nodiscard]] constexpr dtype dtype_for() noexcept {
  if constexpr (std::is_same_v<T, float16>) {
    return dtype::float16;
  } else if constexpr (std::is_same_v<T, float>) {
    return dtype::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return dtype::float64;
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                       !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
                       !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
                       !std::is_same_v<T, char32_t>) {
    constexpr unsigned id = 8 * sizeof(T) + (std::is_signed_v<T> ? 1 : 0);
    return static_cast<dtype>(id);
  } else {
    return dtype::none;
  }
}

}  // namespace detail

/// The dtype of a C++ type: `dtype_of<std::uint16_t> == dtype::uint16`; `none` for types that are
/// no element.
template <class T>
inline constexpr dtype dtype_of = detail::dtype_for<std::remove_cv_t<T>>();

/// A C++ type that elements of a dataset can have: the sized integers, `float16`, float, double.
template <class T>
concept element = dtype_of<T> != dtype::none;

/// Calls `f(T{})` with the C++ type of `type` and returns what it returns.
/// Precondition: `type` is not `none`.
template <class F>
decltype(auto) visit_dtype(dtype type, F&& f) {
  switch (type) {
    case dtype::uint8: return f(std::uint8_t{});
    case dtype::int8: return f(std::int8_t{});
    case dtype::uint16: return f(std::uint16_t{});
    case dtype::int16: return f(std::int16_t{});
    case dtype::float16: return f(float16{});
    case dtype::uint32: return f(std::uint32_t{});
    case dtype::int32: return f(std::int32_t{});
    case dtype::float32: return f(float{});
    case dtype::uint64: return f(std::uint64_t{});
    case dtype::int64: return f(std::int64_t{});
    case dtype::none:
    case dtype::float64: break;
  }
  return f(double{});
}

}  // namespace mdstream::inline v0
