#pragma once

#include <mdstream/checkpoint/detail/file_plan.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<planned_file> plan_files(const tensor_list& tensors, std::uint64_t rank,
                                                     std::uint64_t file_bytes) {
  struct part {
    std::size_t listed;
    std::uint64_t bytes;
    std::size_t nth;  // of the parts of this tensor
  };
  std::vector<part> parts;
  std::map<std::string_view, std::size_t> seen;
  const auto& all = tensors.listed();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].saved)
      parts.push_back({i, *tensor_bytes(all[i].type, all[i].saved->extent), seen[all[i].name]++});
  std::sort(parts.begin(), parts.end(), [](const part& a, const part& b) {
    return std::tie(a.nth, a.listed) < std::tie(b.nth, b.listed);
  });

  std::vector<planned_file> files;
  for (std::size_t i = 0; i < parts.size();) {
    planned_file& file = files.emplace_back();
    file.name = data_file_name(rank, files.size() - 1);
    std::vector<safetensors_entry> entries;
    std::map<std::string_view, std::size_t> by_name;
    std::uint64_t sum = 0;
    const std::size_t nth = parts[i].nth;
    for (; i < parts.size() && parts[i].nth == nth; ++i) {
      const listed_tensor& from = all[parts[i].listed];
      if (!entries.empty() && sum + parts[i].bytes > file_bytes) break;
      sum += parts[i].bytes;
      entries.push_back({.name = from.name, .type = from.type, .shape = from.saved->extent});
      by_name[from.name] = parts[i].listed;
    }
    json::object offsets;
    for (const auto& [name, listed] : by_name) {
      json::array from;
      for (const std::uint64_t each : all[listed].saved->offset) from.emplace_back(each);
      offsets.emplace_back(std::string(name), json::object{{"saved_offsets", std::move(from)}});
    }
    const std::pair<std::string, std::string> metadata[] = {
        {"DCP_SHARDING_INFO", json::dump(std::move(offsets))}, {"format", "pt"}};
    file.head = write_safetensors(entries, metadata);
    for (const safetensors_entry& each : entries)
      file.pieces.push_back({.listed = by_name.at(each.name),
                             .part = *all[by_name.at(each.name)].saved,
                             .at = file.head.size() + each.begin,
                             .bytes = each.end - each.begin});
    file.bytes = file.head.size() + sum;
  }
  return files;
}

MDSTREAM_INLINE data_layout layout_of(const tensor_list& tensors,
                                      std::span<const planned_file> files) {
  data_layout out;
  std::map<std::string_view, stored_tensor> by_name;
  for (const listed_tensor& each : tensors.listed()) {
    stored_tensor& made = by_name[each.name];
    if (!made.name.empty() && (made.type != each.type || made.shape != each.shape))
      throw error(errc::invalid_argument,
                  "tensor \"" + each.name + "\" is listed with two types or shapes");
    made.name = each.name;
    made.type = each.type;
    made.shape = each.shape;
  }
  for (std::size_t f = 0; f < files.size(); ++f) {
    out.files.push_back({.name = files[f].name, .bytes = files[f].bytes});
    for (const planned_piece& each : files[f].pieces)
      by_name.at(tensors.listed()[each.listed].name)
          .add(static_cast<std::uint32_t>(f), each.at, each.part);
  }
  for (auto& [name, made] : by_name) out.tensors.push_back(std::move(made));
  return out;
}

}  // namespace mdstream::inline v0::detail
