#pragma once

/// From the tensors of one rank to its files.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/run_keys.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// One tensor of a file that is to be written: which entry of the list its bytes come from.
struct planned_piece {
  std::size_t listed = 0;
  box part{};
  std::uint64_t at = 0;  ///< in the file
  std::uint64_t bytes = 0;
};

struct planned_file {
  std::string name{};
  std::string head{};  ///< its first bytes; the pieces follow in their order, without gaps
  std::vector<planned_piece> pieces{};
  std::uint64_t bytes = 0;
};

/// Distributes what a rank saves over files of about `file_bytes`, at least one tensor each; a file
/// names a tensor once. Tensors of no elements are written, too: readers of plain files look for
/// them. With `__metadata__` as Hugging Face and torch's distributed checkpoints want it.
[[nodiscard]] inline std::vector<planned_file> plan_files(const tensor_list& tensors,
                                                          std::uint64_t rank,
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

/// What a rank records of the files that it planned; the checksums are known once they are written.
[[nodiscard]] inline data_layout layout_of(const tensor_list& tensors,
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
