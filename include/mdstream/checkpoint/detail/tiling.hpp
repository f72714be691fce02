#pragma once

/// Layouts from their parts: every element of every tensor stands there once.

#include <mdstream/checkpoint/detail/layout.hpp>
#include <mdstream/checkpoint/detail/safetensors.hpp>
#include <mdstream/core/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Throws `code` unless the boxes cover each element of the tensor once, with the first element
/// that is missing or there twice.
///
/// Each box adds 1 to all its elements. Their mixed differences are known by the corners of the
/// boxes alone, and two functions with the same differences are the same: so the corners of all
/// boxes have to leave those of the tensor. O(boxes · 2^cut dimensions), sorted once.
void require_tiling(const stored_tensor& tensor, errc code, const diagnostics& about = {});

/// Throws `errc::corrupt` if bytes of a file belong to two boxes. O(boxes), sorted once.
void require_disjoint(const data_layout& layout, const diagnostics& about = {});

/// The layout of a checkpoint from those of its ranks. Throws `errc::invalid_argument` unless the
/// ranks agree on type and shape of each tensor and their boxes tile it.
[[nodiscard]] data_layout merge_layouts(std::span<const data_layout> ranks);

/// Where the tensors of a file begin in those that they are cut of, as its `__metadata__` tells.
[[nodiscard]] std::map<std::string, std::vector<std::uint64_t>, std::less<>> saved_offsets(
    const safetensors_head& head, const std::string& file);

/// The layout of files that lie as they are, a model of the Hub or a torch distributed checkpoint:
/// from their heads, in the order of the files. Boxes are whole tensors, unless `__metadata__`
/// tells offsets. Throws `errc::corrupt` where they do not make up tensors.
[[nodiscard]] data_layout layout_of_files(
    std::span<const std::pair<std::string, safetensors_head>> files);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/tiling.ipp>
#endif
