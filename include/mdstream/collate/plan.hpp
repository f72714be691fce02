#pragma once

/// How the samples of one batch become the columns of that batch, in plain data.
///
/// A collator decides (where each column lies in the slab, how large it is), an executor carries it
/// out: `collate::execute` on the host, kernels on a device. Both read the same plan and leave the
/// same bytes. This header is plain C++ without dependencies, so nvcc takes it.

#include <mdstream/format/dtype.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::collate {

/// One sample as it lies in its raw MDS shard: a u32 size for each variable column, then the values
/// of all columns in storage order. Owns nothing.
struct sample_bytes {
  const std::byte* data = nullptr;
  std::uint64_t size = 0;  ///< bytes
};

/// A column of the samples, in storage order.
struct source_column {
  dtype type = dtype::uint8;      ///< of one element; `uint8` for texts and bytes
  bool shaped = false;            ///< the value begins with an ndarray shape header
  std::uint64_t value_bytes = 0;  ///< bytes in every sample; 0: the sample's size header tells
};

enum class output_kind : std::uint8_t {
  dense,   ///< values: one block of [samples] + element shape
  ragged,  ///< values: all elements back to back; offsets: int64[samples + 1], in elements
};

/// A column of the batch. Offsets are bytes from the slab's beginning and multiples of `alignment`.
struct output_column {
  output_kind kind = output_kind::dense;
  std::uint32_t source = 0;  ///< index into `collate_plan::sources`
  std::uint64_t values_at = 0;
  std::uint64_t values_bytes = 0;
  std::uint64_t offsets_at = 0;  ///< ragged only
};

/// Every column of a batch begins at a multiple of this many bytes.
inline constexpr std::uint64_t alignment = 256;

[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// What an executor gets. All pointers are to host memory that outlives the execution; the slab of
/// `slab_bytes` is the executor's own. The samples were checked: sizes add up, shapes fit.
struct collate_plan {
  const sample_bytes* samples = nullptr;
  std::uint64_t sample_count = 0;
  const source_column* sources = nullptr;
  std::uint32_t source_count = 0;
  std::uint32_t variable_count = 0;  ///< u32 words at the beginning of each sample
  const output_column* outputs = nullptr;
  std::uint32_t output_count = 0;
  std::uint64_t slab_bytes = 0;
};

/// Bytes of the shape header at the beginning of a dynamically shaped ndarray whose first byte is
/// `head`: `(dimensions << 2) | log2(bytes of a dimension)`.
[[nodiscard]] constexpr std::uint64_t shape_header_bytes(std::uint8_t head) noexcept {
  return 1 + (std::uint64_t{head} >> 2 << (head & 3));
}

}  // namespace mdstream::inline v0::collate
