#pragma once

/// Tensors cut into parts, each one run of bytes: what a file holds is in memory as a whole.

#include <mdstream/checkpoint/box.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>

#include <cstdint>
#include <vector>

namespace mdstream::inline v0::detail {

/// Parts of a box, in the order of its bytes, of `most` bytes at most; more only where less is not
/// a whole number of bytes. Each is one run of bytes of the box.
void cut_box(tensor_type type, const box& of, std::uint64_t most, std::vector<box>& out);

/// Bytes in front of the first of `part` in the box `of`, packed and row-major.
[[nodiscard]] std::uint64_t bytes_before(tensor_type type, const box& of, const box& part);

/// What a rank saves, in parts of at most so many bytes, each where its bytes lie.
[[nodiscard]] tensor_list cut_tensors(const tensor_list& tensors, std::uint64_t most);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/checkpoint/detail/impl/cut_tensors.ipp>
#endif
