#pragma once

/// Shapes of tensors, and boxes: the rectangular parts of a tensor that a rank holds, a file stores
/// or a reader wants.

#include <mdstream/checkpoint/tensor_type.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mdstream::inline v0 {

/// Elements along each dimension, the outermost first. Empty for a scalar.
using tensor_shape = std::vector<std::uint64_t>;

/// A part of a tensor: `extent[d]` elements from element `offset[d]` on, along each dimension.
///
///     mds::box right_half{{0, 384}, {50257, 384}};  // of a tensor of shape [50257, 768]
struct box {
  std::vector<std::uint64_t> offset{};
  std::vector<std::uint64_t> extent{};

  /// All of a tensor of this shape.
  [[nodiscard]] static box whole(tensor_shape shape);

  friend bool operator==(const box&, const box&) = default;
};

namespace detail {

/// A box that another object holds.
struct box_view {
  std::span<const std::uint64_t> offset{};
  std::span<const std::uint64_t> extent{};

  box_view(std::span<const std::uint64_t> from, std::span<const std::uint64_t> size) noexcept
      : offset(from), extent(size) {}
  box_view(const box& of) noexcept : offset(of.offset), extent(of.extent) {}

  [[nodiscard]] box copy() const;
};

using extents = std::span<const std::uint64_t>;

/// Of a tensor in a checkpoint.
inline constexpr std::size_t most_dimensions = 64;

/// The product of the extents; nothing when one of the products on the way does not fit, as the
/// safetensors format has it, even if a later extent is 0.
[[nodiscard]] std::optional<std::uint64_t> element_count(extents of) noexcept;

/// Bytes of a packed tensor; nothing when its bits do not fit a 64-bit number or whole bytes.
[[nodiscard]] std::optional<std::uint64_t> tensor_bytes(tensor_type type, extents of) noexcept;

[[nodiscard]] bool is_empty(extents of) noexcept;

[[nodiscard]] bool lies_within(box_view part, extents shape) noexcept;

/// What two boxes of one tensor share; nothing if that is no element. Boxes of scalars share it.
[[nodiscard]] std::optional<box> intersection(box_view a, box_view b);

/// `[2, 3]`, as messages and Python have it.
[[nodiscard]] std::string to_string(extents of);

}  // namespace detail

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/box.ipp>
#endif
