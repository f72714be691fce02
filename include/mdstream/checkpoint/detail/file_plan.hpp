#pragma once

/// From the tensors of one rank to its files.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
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
[[nodiscard]] std::vector<planned_file> plan_files(const tensor_list& tensors, std::uint64_t rank,
                                                   std::uint64_t file_bytes);

/// What a rank records of the files that it planned; the checksums are known once they are written.
[[nodiscard]] data_layout layout_of(const tensor_list& tensors,
                                    std::span<const planned_file> files);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/file_plan.ipp>
#endif
