#pragma once

#include <mdstream/checkpoint/detail/checked_read.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::vector<planned_fetch> plan_fetches(const data_layout& layout,
                                                        const read_plan& plan, bool all) {
  std::vector<planned_fetch> out;
  std::vector<planned_fetch> block;  // what is wanted of one
  const auto end_block = [&] {
    if (block.empty()) return;
    const data_file& file = layout.files[block[0].file];
    const std::uint64_t number = block[0].begin / checksum_block;
    const std::uint64_t begin = number * checksum_block;
    const std::uint64_t end = std::min(begin + checksum_block, file.bytes);
    std::uint64_t wanted = 0;
    for (const planned_fetch& each : block) wanted += each.end - each.begin;
    const std::uint64_t more = end - begin - wanted;
    if (!file.crcs.empty() && (all || more <= wanted / 64 + read_planner::default_join)) {
      planned_fetch whole{.file = block[0].file, .begin = begin, .end = end};
      whole.crc = file.crcs[static_cast<std::size_t>(number)];
      for (const planned_fetch& each : block)
        whole.copies.insert(whole.copies.end(), each.copies.begin(), each.copies.end());
      std::sort(whole.copies.begin(), whole.copies.end());
      whole.copies.erase(std::unique(whole.copies.begin(), whole.copies.end()), whole.copies.end());
      out.push_back(std::move(whole));
    } else {
      for (planned_fetch& each : block) out.push_back(std::move(each));
    }
    block.clear();
  };
  for (const planned_range& range : plan.ranges) {
    for (std::uint64_t at = range.begin; at < range.end;) {
      const std::uint64_t number = at / checksum_block;
      const std::uint64_t end = std::min(range.end, (number + 1) * checksum_block);
      if (!block.empty() &&
          (block[0].file != range.file || block[0].begin / checksum_block != number))
        end_block();
      block.push_back({.file = range.file, .begin = at, .end = end, .copies = range.copies});
      at = end;
    }
  }
  end_block();
  return out;
}

MDSTREAM_INLINE void add_tail(planned_fetch& to, const data_file& file, const strided_copy& copy,
                              const element_cast& cast) {
  if (file.crcs.empty())
    to.tail = static_cast<std::uint32_t>(std::min<std::uint64_t>(most_tail, file.bytes - to.end));
  else if (copy.from % cast.from != 0)
    throw error(errc::corrupt,
                diagnostics{.what = "a tensor's elements are not aligned in \"" + file.name + '"',
                            .byte = copy.from});
}

MDSTREAM_INLINE std::vector<planned_fetch> plan_verification(const data_layout& layout) {
  std::vector<planned_fetch> out;
  for (std::size_t f = 0; f < layout.files.size(); ++f)
    for (std::size_t b = 0; b < layout.files[f].crcs.size(); ++b)
      out.push_back({.file = static_cast<std::uint32_t>(f),
                     .begin = b * checksum_block,
                     .end = std::min((b + 1) * checksum_block, layout.files[f].bytes),
                     .crc = layout.files[f].crcs[b]});
  return out;
}

MDSTREAM_INLINE std::string tensors_within(const data_layout& layout, std::uint32_t file,
                                           std::uint64_t begin, std::uint64_t end) {
  std::string names;
  std::size_t found = 0;
  for (const stored_tensor& each : layout.tensors) {
    for (std::size_t i = 0; i < each.pieces.size(); ++i) {
      const std::uint64_t at = each.pieces[i].at;
      const std::uint64_t bytes = *tensor_bytes(each.type, each.box_of(i).extent);
      if (each.pieces[i].file != file || at >= end || at + bytes <= begin) continue;
      if (++found <= 3) names.append(found > 1 ? ", \"" : "\"").append(each.name).append("\"");
      break;
    }
  }
  if (found == 0) return "its header";
  if (found > 3) names += " and " + std::to_string(found - 3) + " more";
  return (found == 1 ? "tensor " : "tensors ") + names;
}

}  // namespace mdstream::inline v0::detail
