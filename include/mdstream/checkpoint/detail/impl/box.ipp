#pragma once

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/version.hpp>

#include <limits>
#include <utility>

namespace mdstream::inline v0 {

MDSTREAM_INLINE box box::whole(tensor_shape shape) {
  std::vector<std::uint64_t> zeros(shape.size(), 0);
  return {.offset = std::move(zeros), .extent = std::move(shape)};
}

}  // namespace mdstream::inline v0

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE box box_view::copy() const {
  return {.offset = {offset.begin(), offset.end()}, .extent = {extent.begin(), extent.end()}};
}

MDSTREAM_INLINE std::optional<std::uint64_t> element_count(extents of) noexcept {
  std::uint64_t count = 1;
  for (const std::uint64_t each : of) {
    if (each != 0 && count > std::numeric_limits<std::uint64_t>::max() / each) return std::nullopt;
    count *= each;
  }
  return count;
}

MDSTREAM_INLINE std::optional<std::uint64_t> tensor_bytes(tensor_type type, extents of) noexcept {
  const std::optional<std::uint64_t> count = element_count(of);
  const std::uint64_t bits = bits_of(type);
  if (!count || *count > std::numeric_limits<std::uint64_t>::max() / bits) return std::nullopt;
  return *count * bits % 8 == 0 ? std::optional(*count * bits / 8) : std::nullopt;
}

MDSTREAM_INLINE bool is_empty(extents of) noexcept {
  for (const std::uint64_t each : of)
    if (each == 0) return true;
  return false;
}

MDSTREAM_INLINE bool lies_within(box_view part, extents shape) noexcept {
  if (part.offset.size() != shape.size() || part.extent.size() != shape.size()) return false;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (part.offset[d] > shape[d] || part.extent[d] > shape[d] - part.offset[d]) return false;
  return true;
}

MDSTREAM_INLINE std::optional<box> intersection(box_view a, box_view b) {
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

MDSTREAM_INLINE std::string to_string(extents of) {
  std::string out = "[";
  for (std::size_t d = 0; d < of.size(); ++d)
    out.append(d == 0 ? "" : ", ").append(std::to_string(of[d]));
  return out + ']';
}

}  // namespace mdstream::inline v0::detail
