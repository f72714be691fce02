#pragma once

/// Element types of tensors in checkpoints: those of the safetensors format, by its names.

#include <mdstream/version.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mdstream::inline v0 {

/// In the order of the format, from narrow to wide, which is also that of tensors in a file,
/// backwards. Not `mds::dtype`, whose numbers are those of MDS columns.
enum class tensor_type : std::uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,  ///< torch's float8_e4m3fn
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,  ///< two 32-bit floats
  f64,
  i64,
  u64,
};

namespace detail {

struct tensor_type_info {
  std::string_view name;
  unsigned bits;
};

inline constexpr std::array<tensor_type_info, 22> tensor_types{{
    {"BOOL", 8},        {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E5M2FNUZ", 8}, {"I16", 16},    {"U16", 16},    {"F16", 16},    {"BF16", 16},
    {"I32", 32},        {"U32", 32},    {"F32", 32},    {"C64", 64},    {"F64", 64},
    {"I64", 64},        {"U64", 64},
}};

}  // namespace detail

/// The name in safetensors files: "BF16".
[[nodiscard]] constexpr std::string_view to_string(tensor_type type) noexcept {
  return detail::tensor_types[static_cast<std::size_t>(type)].name;
}

/// Bits of one element: 4, 6, or a multiple of 8.
[[nodiscard]] constexpr unsigned bits_of(tensor_type type) noexcept {
  return detail::tensor_types[static_cast<std::size_t>(type)].bits;
}

/// The type of that name, if there is one.
[[nodiscard]] constexpr std::optional<tensor_type> find_tensor_type(
    std::string_view name) noexcept {
  for (std::size_t i = 0; i < detail::tensor_types.size(); ++i)
    if (detail::tensor_types[i].name == name) return static_cast<tensor_type>(i);
  return std::nullopt;
}

}  // namespace mdstream::inline v0
