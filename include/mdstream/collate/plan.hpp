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

/// What a column of the batch is made of. The elements of a value never include its shape header.
enum class output_kind : std::uint8_t {
  /// values: one block of [samples] + element shape.
  dense,
  /// values: all elements back to back; offsets: int64[samples + 1], in elements.
  ragged,
  /// values: [samples][row_elements]; row i begins with the first min(its elements, row_elements)
  /// elements of sample i, the rest of it is `pad_value`. mask: uint8[samples][row_elements], 1 for
  /// an element of the sample, 0 for padding. offsets: int64[samples], the number of elements of
  /// each sample.
  padded,
  /// values: [rows][row_elements], all `pad_value` but for the plan's segments: elements
  /// [first, first + length) of the sample's value, from element `at` of the block on.
  packed,
  /// int32[n + 1], ascending from 0 to rows * row_elements: where each run of the block begins, in
  /// elements. A run is a segment, or the padding at the end of a row, in the order of the block.
  cu_seqlens,
  /// int32[rows][row_elements]: each element's position in its run, from 0.
  position_ids,
  /// int32[rows][row_elements]: the number of each element's sample in the batch; -1 in padding.
  segment_ids,
  /// values: the samples themselves, size headers and all, back to back; offsets:
  /// int64[samples + 1], in bytes.
  samples,
};

/// A column of the batch. Places are bytes from the slab's beginning and multiples of `alignment`.
struct output_column {
  output_kind kind = output_kind::dense;
  std::uint32_t source = 0;  ///< index into `collate_plan::sources`; of dense to packed
  std::uint64_t values_at = 0;
  std::uint64_t values_bytes = 0;
  std::uint64_t offsets_at = 0;    ///< ragged, samples: the offsets; padded: the lengths
  std::uint64_t mask_at = 0;       ///< padded only
  std::uint64_t row_elements = 0;  ///< padded, and packed to segment_ids
  std::uint64_t pad_value = 0;     ///< padded, packed: an element's bits, in the lowest bytes
};

/// A part of a sample's value (of every packed column alike) in a packed block.
struct pack_segment {
  std::uint64_t sample = 0;  ///< number in the batch
  std::uint64_t first = 0;   ///< element of the sample's value that it begins with
  std::uint64_t length = 0;  ///< elements, at least 1
  std::uint64_t at = 0;      ///< element of the block; segments never cross the end of a row
};

/// Every column of a batch begins at a multiple of this many bytes.
inline constexpr std::uint64_t alignment = 256;

/// Rounds `bytes` up to a multiple of `alignment`.
[[nodiscard]] constexpr std::uint64_t align_up(std::uint64_t bytes) noexcept {
  return (bytes + alignment - 1) / alignment * alignment;
}

/// What an executor gets. All pointers are to host memory that outlives the execution; the slab of
/// `slab_bytes` is the executor's own. The samples were checked: sizes add up, shapes fit.
///
/// Outputs of kind dense to packed are those of one source each, the first for source 0, in the
/// order of the sources and of all of them; behind them come cu_seqlens, position_ids and
/// segment_ids where the batch is packed. An output of kind `samples` is the only one of its plan.
struct collate_plan {
  const sample_bytes* samples = nullptr;
  std::uint64_t sample_count = 0;
  const source_column* sources = nullptr;
  std::uint32_t source_count = 0;
  std::uint32_t variable_count = 0;  ///< u32 words at the beginning of each sample
  const output_column* outputs = nullptr;
  std::uint32_t output_count = 0;
  std::uint64_t slab_bytes = 0;
  /// Packed only: ascending in `at`, not overlapping.
  const pack_segment* segments = nullptr;
  std::uint64_t segment_count = 0;
  std::uint64_t pack_rows = 0;
};

/// Bytes of the shape header at the beginning of a dynamically shaped ndarray whose first byte is
/// `head`: `(dimensions << 2) | log2(bytes of a dimension)`.
[[nodiscard]] constexpr std::uint64_t shape_header_bytes(std::uint8_t head) noexcept {
  return 1 + (std::uint64_t{head} >> 2 << (head & 3));
}

}  // namespace mdstream::inline v0::collate
