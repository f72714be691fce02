#pragma once

#include <mdstream/checkpoint/detail/tiling.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <tuple>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void require_tiling(const stored_tensor& tensor, errc code,
                                    const diagnostics& about) {
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
  constexpr std::size_t most_corners = std::size_t{1} << 26;  // 1 GiB
  if (count >= most_corners >> cut.size())
    refuse(errc::unsupported, std::to_string(count) + " boxes cut along " +
                                  std::to_string(cut.size()) + " dimensions are too many");
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

MDSTREAM_INLINE void require_disjoint(const data_layout& layout, const diagnostics& about) {
  struct range {
    std::uint32_t file;
    std::uint64_t begin, end;
    const stored_tensor* of;
  };
  std::vector<range> ranges;
  for (const stored_tensor& each : layout.tensors)
    for (std::size_t i = 0; i < each.pieces.size(); ++i) {
      const auto [file, at] = each.pieces[i];
      const std::uint64_t bytes = *tensor_bytes(each.type, each.box_of(i).extent);
      if (bytes > 0) ranges.push_back({file, at, at + bytes, &each});
    }
  std::sort(ranges.begin(), ranges.end(), [](const range& a, const range& b) {
    return std::tie(a.file, a.begin) < std::tie(b.file, b.begin);
  });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const range &before = ranges[i - 1], &each = ranges[i];
    if (before.file != each.file || before.end <= each.begin) continue;
    diagnostics where = about;
    where.what = "tensors \"" + before.of->name + "\" and \"" + each.of->name +
                 "\" share bytes of \"" + layout.files[each.file].name + "\", from byte " +
                 std::to_string(each.begin) + " on";
    throw error(errc::corrupt, std::move(where));
  }
}

MDSTREAM_INLINE data_layout merge_layouts(std::span<const data_layout> ranks) {
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
                    "tensor \"" + each.name + "\" is " +
                        std::string(mdstream::to_string(into.type)) + ' ' +
                        to_string(extents(into.shape)) + " on one rank, and " +
                        std::string(mdstream::to_string(each.type)) + ' ' +
                        to_string(extents(each.shape)) + " on rank " + std::to_string(r));
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

MDSTREAM_INLINE std::map<std::string, std::vector<std::uint64_t>, std::less<>> saved_offsets(
    const safetensors_head& head, const std::string& file) {
  std::map<std::string, std::vector<std::uint64_t>, std::less<>> out;
  for (const auto& [key, value] : head.metadata) {
    if (key != "DCP_SHARDING_INFO") continue;
    std::string tensor;
    try {
      const json::value all = json::parse(value);
      for (const auto& [name, about] : all.as<json::object>(key)) {
        tensor = name;
        for (const json::value& each : about.get<json::array>("saved_offsets"))
          out[name].push_back(each.as<std::uint64_t>("saved_offsets"));
        out.try_emplace(name);
      }
    } catch (const error& e) {
      throw error(errc::corrupt,
                  diagnostics{.what = "DCP_SHARDING_INFO of the file can not be right" +
                                      (tensor.empty() ? "" : ", at tensor \"" + tensor + '"') +
                                      ": " + e.where().what,
                              .url = file});
    }
  }
  return out;
}

MDSTREAM_INLINE data_layout
layout_of_files(std::span<const std::pair<std::string, safetensors_head>> files) {
  data_layout out;
  std::map<std::string_view, stored_tensor> by_name;
  for (std::size_t f = 0; f < files.size(); ++f) {
    const auto& [name, head] = files[f];
    out.files.push_back({.name = name, .bytes = head.data_at + head.data_bytes});
    const auto offsets = saved_offsets(head, name);
    for (const safetensors_entry& each : head.tensors) {
      const auto [at, is_new] = by_name.try_emplace(each.name);
      stored_tensor& into = at->second;
      box part = box::whole(each.shape);
      if (const auto found = offsets.find(each.name); found != offsets.end())
        part.offset = found->second;
      if (!is_new && offsets.find(each.name) == offsets.end())
        throw error(errc::corrupt,
                    diagnostics{.what = "tensor \"" + each.name + "\" is in \"" +
                                        files[into.pieces.front().file].first +
                                        "\" already, and does not tell which part it is",
                                .url = name});
      const auto refuse = [&] {
        throw error(errc::corrupt, diagnostics{.what = "tensor \"" + each.name +
                                                       "\" lies in several files that do not "
                                                       "agree on its type or its parts",
                                               .url = name});
      };
      if (is_new) {
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
    const diagnostics where{.url = out.files[made.pieces.front().file].name};
    if (!tensor_bytes(made.type, made.shape))
      throw error(errc::corrupt,
                  diagnostics{.what = "tensor \"" + made.name + "\" can not have the shape " +
                                      to_string(extents(made.shape)),
                              .url = where.url});
    require_tiling(made, errc::corrupt, where);
    out.tensors.push_back(std::move(made));
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
