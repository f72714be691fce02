#pragma once

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE box_view stored_tensor::box_of(std::size_t number) const noexcept {
  const std::size_t rank = shape.size();
  const extents all(corners);
  return {all.subspan(2 * number * rank, rank), all.subspan((2 * number + 1) * rank, rank)};
}

MDSTREAM_INLINE void stored_tensor::add(std::uint32_t file, std::uint64_t at, box_view part) {
  pieces.push_back({file, at});
  corners.insert(corners.end(), part.offset.begin(), part.offset.end());
  corners.insert(corners.end(), part.extent.begin(), part.extent.end());
}

MDSTREAM_INLINE const stored_tensor* data_layout::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors.begin(), tensors.end(), name,
      [](const stored_tensor& each, std::string_view wanted) { return each.name < wanted; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

MDSTREAM_INLINE std::uint64_t data_layout::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const data_file& each : files) sum += each.bytes;
  return sum;
}

}  // namespace mdstream::inline v0::detail
