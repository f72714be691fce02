#pragma once

/// A collate plan that was lowered for kernels: every table of it, and the samples, lie in memory
/// of the device. Plain data; made by collate/stage_block.hpp, carried out by cuda/collate.cuh.

#include <mdstream/collate/plan.hpp>
#include <mdstream/core/detail/divisor.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace mdstream::inline v0::collate::detail {

// The tables have no padding, whose bytes would be those of the stack: equal plans give equal
// tables.

/// Where kernels put what they find of a column when they parse the samples' headers.
enum class index_kind : std::uint32_t {
  ranges,  ///< begin and elements, in `begins` and `elements`
  ragged,  ///< begin, in `begins`, and elements, behind the sample's place in the offsets at `to`
  rows,    ///< the value itself, a row of the slab from `to` on; of 1, 2, 4, 8 or 16 bytes
};

/// A column of the samples, to parse their headers.
struct staged_source {
  std::uint64_t value_bytes = 0;      ///< in every sample; 0: the size header tells
  std::uint64_t to = 0;               ///< byte of the slab
  std::uint32_t variable_before = 0;  ///< columns
  std::uint32_t index_row = 0;        ///< of `begins` and `elements`
  index_kind goes_to = index_kind::ranges;
  std::uint16_t element_log2 = 0;  ///< of the bytes of an element
  std::uint16_t shaped = 0;        ///< 1: a shape lies before the elements
};
static_assert(std::has_unique_object_representations_v<staged_source>);

/// What a region of the slab holds; see `output_kind`.
enum class region_kind : std::uint16_t {
  dense,           ///< elements: rows of `row_elements`
  ragged,          ///< elements: back to back, from the offsets at `offsets_at` on
  padded,          ///< elements: rows of `row_elements`, then padding
  packed,          ///< elements: runs
  samples,         ///< raw samples back to back
  sample_offsets,  ///< int64: where they begin
  lengths,         ///< int64: elements kept of each sample
  mask,            ///< uint8
  cu_seqlens,      ///< int32: where runs begin
  position_ids,    ///< int32
  segment_ids,     ///< int32
};

/// A part of the slab, from `at` on. Offsets of ragged columns are no region: a scan writes them.
/// Nor are rows that the index writes.
struct staged_region {
  region_kind kind = region_kind::dense;
  std::uint16_t element_log2 = 0;  ///< of the bytes of an element
  std::uint32_t index_row = 0;     ///< of `begins` and `elements`
  std::uint64_t at = 0;
  std::uint64_t bytes = 0;
  std::uint64_t value_bytes = 0;   ///< in every sample, where nothing is indexed
  std::uint64_t fixed_before = 0;  ///< bytes before the value in a sample, likewise
  std::uint64_t row_elements = 0;
  mdstream::detail::divisor
      by_row{};  ///< dense, padded: by the bytes of a row, which are those of a mask's
  std::uint64_t offsets_at = 0;  ///< ragged
  std::uint64_t pad_value = 0;   ///< eight bytes of padding
};
static_assert(std::has_unique_object_representations_v<staged_region>);

/// A stretch of a packed block: a part of a sample, or padding.
struct staged_run {
  static constexpr std::uint64_t padding = ~std::uint64_t{0};

  std::uint64_t at = 0;  ///< element of the block
  std::uint64_t sample = padding;
  std::uint64_t first = 0;  ///< element of the sample's value
};
static_assert(std::has_unique_object_representations_v<staged_run>);

/// What kernels get, by value. All pointers but `host_regions` are to the device's memory, aligned
/// to `alignment`; what they point to may be read up to the next multiple of 16 bytes.
///
/// The samples may be any bytes: kernels check every offset and size. A sample that contradicts
/// itself gives zeros, padded columns padding, ragged ones no elements, and its number if it is the
/// smallest. The tables are the host's, and are believed.
struct staged_plan {
  const std::byte* raw = nullptr;  ///< the samples back to back
  std::uint64_t raw_bytes = 0;
  const std::uint64_t* offsets = nullptr;  ///< sample_count + 1, into `raw`
  std::uint64_t sample_count = 0;
  const staged_source* sources = nullptr;
  std::uint32_t source_count = 0;
  std::uint32_t variable_count = 0;
  std::uint64_t fixed_bytes = 0;  ///< of all columns of fixed size
  const staged_region* regions = nullptr;
  std::uint32_t region_count = 0;
  const staged_run* runs = nullptr;  ///< run_count, and one more where the block ends
  std::uint64_t run_count = 0;
  const staged_region* host_regions = nullptr;  ///< the same regions, to launch kernels with
  /// [rows of the index][sample_count], written by the kernels: where each value's elements begin
  /// in `raw`, and how many there are. Null where all columns have a fixed size.
  std::uint64_t* begins = nullptr;
  std::uint64_t* elements = nullptr;
  std::uint64_t* bad_sample = nullptr;  ///< one number; `no_bad_sample` before
  std::byte* scratch = nullptr;         ///< for scans
  std::uint64_t scratch_bytes = 0;
  std::byte* slab = nullptr;
  std::uint64_t slab_bytes = 0;

  static constexpr std::uint64_t no_bad_sample = ~std::uint64_t{0};
};

}  // namespace mdstream::inline v0::collate::detail
