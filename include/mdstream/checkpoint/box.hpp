#pragma once

/// Shapes of tensors, and boxes: the rectangular parts of a tensor that a rank holds, a file stores
/// or a reader wants.

#include <mdstream/checkpoint/tensor_type.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Elements along each dimension, the outermost first. Empty for a scalar.
using tensor_shape = std::vector<std::uint64_t>;

/// A part of a tensor: `extent[d]` elements from element `offset[d]` on, along each dimension.
struct box {
  std::vector<std::uint64_t> offset{};
  std::vector<std::uint64_t> extent{};

  /// All of a tensor of this shape.
  [[nodiscard]] static box whole(tensor_shape shape) {
    std::vector<std::uint64_t> zeros(shape.size(), 0);
    return {.offset = std::move(zeros), .extent = std::move(shape)};
  }

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

  [[nodiscard]] box copy() const {
    return {.offset = {offset.begin(), offset.end()}, .extent = {extent.begin(), extent.end()}};
  }
};

using extents = std::span<const std::uint64_t>;

/// The product of the extents; nothing when one of the products on the way does not fit, as the
/// safetensors format has it, even if a later extent is 0.
[[nodiscard]] inline std::optional<std::uint64_t> element_count(extents of) noexcept {
  std::uint64_t count = 1;
  for (const std::uint64_t each : of) {
    if (each != 0 && count > std::numeric_limits<std::uint64_t>::max() / each) return std::nullopt;
    count *= each;
  }
  return count;
}

/// Bytes of a packed tensor; nothing when its bits do not fit a 64-bit number or whole bytes.
[[nodiscard]] inline std::optional<std::uint64_t> tensor_bytes(tensor_type type,
                                                               extents of) noexcept {
  const std::optional<std::uint64_t> count = element_count(of);
  const std::uint64_t bits = bits_of(type);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / bits) return std::nullopt;
  return *count * bits % 8 == 0 ? std::optional(*count * bits / 8) : std::nullopt;
}

[[nodiscard]] inline bool is_empty(extents of) noexcept {
  for (const std::uint64_t each : of)
    if (each == 0) return true;
  return false;
}

[[nodiscard]] inline bool lies_within(box_view part, extents shape) noexcept {
  if (part.offset.size() != shape.size() || part.extent.size() != shape.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (part.offset[d] > shape[d] || part.extent[d] > shape[d] - part.offset[d]) return false;
  return true;
}

/// What two boxes of one tensor share; nothing if that is no element. Boxes of scalars share it.
[[nodiscard]] inline std::optional<box> intersection(box_view a, box_view b) {
  box out;
  for (std::size_t d = 0; d < a.offset.size(); ++d) {
    const std::uint64_t begin = a.offset[d] < b.offset[d] ? b.offset[d] : a.offset[d];
    const std::uint64_t end_a = a.offset[d] + a.extent[d], end_b = b.offset[d] + b.extent[d];
    const std::uint64_t end = end_a < end_b ? end_a : end_b;
    if (begin >= end) return std::nullopt;
    out.offset.push_back(begin);
    out.extent.push_back(end - begin);
  }
  return out;
}

/// `[2, 3]`, as messages and Python have it.
[[nodiscard]] inline std::string to_string(extents of) {
  std::string out = "[";
  for (std::size_t d = 0; d < of.size(); ++d)
    out.append(d == 0 ? "" : ", ").append(std::to_string(of[d]));
  return out + ']';
}

}  // namespace detail

}  // namespace mdstream::inline v0
