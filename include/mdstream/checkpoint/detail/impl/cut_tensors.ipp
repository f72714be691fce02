#pragma once

#include <mdstream/checkpoint/detail/cut_tensors.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void cut_box(tensor_type type, const box& of, std::uint64_t most,
                             std::vector<box>& out) {
  std::size_t cut = 0;
  while (cut < of.extent.size() && of.extent[cut] == 1) ++cut;
  const std::uint64_t bytes = *tensor_bytes(type, of.extent);
  if (bytes <= most || cut == of.extent.size()) return out.push_back(of);
  const std::uint64_t rows = of.extent[cut];
  if (bytes % rows != 0 || bytes / rows * 8 % bits_of(type) != 0) return out.push_back(of);
  const std::uint64_t each = std::max<std::uint64_t>(most / (bytes / rows), 1);
  for (std::uint64_t at = 0; at < rows; at += each) {
    box part = of;
    part.offset[cut] += at;
    part.extent[cut] = std::min(each, rows - at);
    if (part.extent[cut] == 1)
      cut_box(type, part, most, out);
    else
      out.push_back(std::move(part));
  }
}

MDSTREAM_INLINE std::uint64_t bytes_before(tensor_type type, const box& of, const box& part) {
  std::uint64_t elements = 0;
  for (std::size_t d = 0; d < of.extent.size(); ++d)
    elements = elements * of.extent[d] + (part.offset[d] - of.offset[d]);
  return elements * bits_of(type) / 8;
}

MDSTREAM_INLINE tensor_list cut_tensors(const tensor_list& tensors, std::uint64_t most) {
  tensor_list out;
  std::vector<box> parts;
  for (const listed_tensor& each : tensors.listed()) {
    if (!each.saved) continue;
    parts.clear();
    cut_box(each.type, *each.saved, most, parts);
    for (box& part : parts) {
      auto* const data = static_cast<std::byte*>(each.data);
      const std::uint64_t before = bytes_before(each.type, each.held, part);
      out.add(each.name, each.type, each.shape, std::move(part), data + before);
    }
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
