#pragma once

/// Layouts from their parts: every element of every tensor stands there once.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Throws `code` unless the boxes cover each element of the tensor once, with the first element
/// that is missing or there twice.
///
/// Each box adds 1 to all its elements. Their mixed differences are known by the corners of the
/// boxes alone, and two functions with the same differences are the same: so the corners of all
/// boxes have to leave those of the tensor. O(boxes · 2^cut dimensions), sorted once.
inline void require_tiling(const stored_tensor& tensor, errc code, const diagnostics& about = {}) {
  const std::size_t rank = tensor.shape.size(), count = tensor.pieces.size();
  const auto refuse = [&](errc why, const std::string& what) {
    diagnostics where = about;
    where.what =
        "tensor \"" + tensor.name + "\" of shape " + to_string(extents(tensor.shape)) + ": " + what;
    throw error(why, std::move(where));
  };
  std::vector<std::size_t> cut;  // dimensions along which some box is not the whole tensor
  for (std::size_t d = 0; d < rank; ++d)
    for (std::size_t i = 0; i < count; ++i)
      if (tensor.box_of(i).extent[d] != tensor.shape[d]) {
        cut.push_back(d);
        break;
      }
  if (is_empty(tensor.shape)) return;  // there is no element
  constexpr std::size_t most_cuts = 8;
  if (cut.size() > most_cuts) refuse(errc::unsupported, "it is cut along more than 8 dimensions");
  std::uint64_t grid = 1;
  for (const std::size_t d : cut) {
    if (grid > std::numeric_limits<std::uint64_t>::max() / (tensor.shape[d] + 1))
      refuse(errc::unsupported, "it is too large to be cut along so many dimensions");
    grid *= tensor.shape[d] + 1;
  }
  struct corner {
    std::uint64_t at;
    int sign;
  };
  std::vector<corner> corners;
  corners.reserve((count + 1) << cut.size());
  const auto add = [&](box_view part, int weight) {
    if (is_empty(part.extent)) return;
    for (std::size_t which = 0; which < std::size_t{1} << cut.size(); ++which) {
      corner made{0, weight};
      for (std::size_t i = 0; i < cut.size(); ++i) {
        const bool end = (which >> i & 1) != 0;
        made.at = made.at * (tensor.shape[cut[i]] + 1) + part.offset[cut[i]] +
                  (end ? part.extent[cut[i]] : 0);
        if (end) made.sign = -made.sign;
      }
      corners.push_back(made);
    }
  };
  for (std::size_t i = 0; i < count; ++i) add(tensor.box_of(i), 1);
  add(box::whole(tensor.shape), -1);
  std::sort(corners.begin(), corners.end(),
            [](const corner& a, const corner& b) { return a.at < b.at; });
  for (std::size_t i = 0; i < corners.size();) {
    const std::uint64_t at = corners[i].at;
    std::int64_t sum = 0;
    for (; i < corners.size() && corners[i].at == at; ++i) sum += corners[i].sign;
    if (sum == 0) continue;
    tensor_shape where(rank, 0);  // the first element, in row-major order, that is not there once
    std::uint64_t rest = at;
    for (std::size_t c = cut.size(); c-- > 0; rest /= tensor.shape[cut[c]] + 1)
      where[cut[c]] = rest % (tensor.shape[cut[c]] + 1);
    refuse(code, "no element may be missing and none may be saved by two ranks, but the one at " +
                     to_string(extents(where)) + (sum < 0 ? " is missing" : " is there twice"));
  }
}

/// The layout of a checkpoint from those of its ranks. Throws `errc::invalid_argument` unless the
/// ranks agree on type and shape of each tensor and their boxes tile it.
[[nodiscard]] inline data_layout merge_layouts(std::span<const data_layout> ranks) {
  data_layout out;
  std::map<std::string_view, stored_tensor> by_name;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto first = static_cast<std::uint32_t>(out.files.size());
    out.files.insert(out.files.end(), ranks[r].files.begin(), ranks[r].files.end());
    for (const stored_tensor& each : ranks[r].tensors) {
      stored_tensor& into = by_name[each.name];
      if (into.name.empty()) {
        into.name = each.name;
        into.type = each.type;
        into.shape = each.shape;
      } else if (into.type != each.type || into.shape != each.shape) {
        throw error(errc::invalid_argument,
                    "tensor \"" + each.name + "\" is " + std::string(to_string(into.type)) + ' ' +
                        to_string(extents(into.shape)) + " on one rank, and " +
                        std::string(to_string(each.type)) + ' ' + to_string(extents(each.shape)) +
                        " on rank " + std::to_string(r));
      }
      for (std::size_t i = 0; i < each.pieces.size(); ++i)
        into.add(first + each.pieces[i].file, each.pieces[i].at, each.box_of(i));
    }
  }
  for (auto& [name, made] : by_name) {
    require_tiling(made, errc::invalid_argument);
    out.tensors.push_back(std::move(made));
  }
  return out;
}

/// The layout of files that lie as they are, a model of the Hub or a torch distributed checkpoint:
/// from their heads, in the order of the files. Boxes are whole tensors, unless `__metadata__`
/// tells offsets. Throws `errc::corrupt` where they do not make up tensors.
[[nodiscard]] inline data_layout layout_of_files(
    std::span<const std::pair<std::string, safetensors_head>> files) {
  data_layout out;
  std::map<std::string_view, stored_tensor> by_name;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto& [name, head] = files[f];
    out.files.push_back({.name = name, .bytes = head.data_at + head.data_bytes});
    json::value offsets;
    for (const auto& [key, value] : head.metadata)
      if (key == "DCP_SHARDING_INFO") offsets = json::parse(value, {.url = name});
    for (const safetensors_entry& each : head.tensors) {
      stored_tensor& into = by_name[each.name];
      box part = box::whole(each.shape);
      if (const json::value* about = offsets.find(each.name)) {
        const auto& from = about->get<json::array>("saved_offsets");
        part.offset.clear();
        for (const json::value& offset : from)
          part.offset.push_back(offset.as<std::uint64_t>("saved_offsets"));
      }
      const auto refuse = [&] {
        throw error(errc::corrupt, diagnostics{.what = "tensor \"" + each.name +
                                                       "\" lies in several files that do not "
                                                       "agree on its type or its parts",
                                               .url = name});
      };
      if (into.name.empty()) {
        into.name = each.name;
        into.type = each.type;
        into.shape.assign(each.shape.size(), 0);
      }
      if (into.type != each.type || part.offset.size() != each.shape.size() ||
          into.shape.size() != each.shape.size())
        refuse();
      for (std::size_t d = 0; d < each.shape.size(); ++d) {
        if (part.offset[d] > std::numeric_limits<std::uint64_t>::max() - each.shape[d]) refuse();
        into.shape[d] = std::max(into.shape[d], part.offset[d] + each.shape[d]);
      }
      into.add(static_cast<std::uint32_t>(f), head.data_at + each.begin, part);
    }
  }
  for (auto& [name, made] : by_name) {
    if (!tensor_bytes(made.type, made.shape))
      throw error(errc::corrupt, "tensor \"" + made.name + "\" can not have the shape " +
                                     to_string(extents(made.shape)));
    require_tiling(made, errc::corrupt);
    out.tensors.push_back(std::move(made));
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
