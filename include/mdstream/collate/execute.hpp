#pragma once

/// The host's executor of a collate plan.

#include <mdstream/collate/detail/execute_packed.hpp>
#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/detail/parts.hpp>
#include <mdstream/collate/plan.hpp>

#include <algorithm>
#include <cstring>
#include <span>

namespace mdstream::inline v0::collate {

namespace detail {

/// Samples of a few cache lines at most are copied in a few instructions where their size is known
/// to the compiler; a call of memcpy takes longer than that.
template <std::uint64_t Bytes>
void copy_small_samples(const collate_plan& plan, std::byte* to, std::uint64_t first,
                        std::uint64_t last) noexcept {
  for (std::uint64_t i = first; i < last; ++i)
    std::memcpy(to + i * Bytes, plan.samples[i].data, Bytes);
}

/// A batch of one fixed-size column: each sample is its value.
template <thread_pool Pool>
void copy_whole_samples(const collate_plan& plan, std::byte* to, Pool& pool) {
  const std::uint64_t bytes = plan.sources[0].value_bytes;
  const auto copy = [&plan, to, bytes](std::uint64_t first, std::uint64_t last) noexcept {
    switch (bytes) {
      case 4: return copy_small_samples<4>(plan, to, first, last);
      case 8: return copy_small_samples<8>(plan, to, first, last);
      case 16: return copy_small_samples<16>(plan, to, first, last);
      case 32: return copy_small_samples<32>(plan, to, first, last);
      case 64: return copy_small_samples<64>(plan, to, first, last);
      case 128: return copy_small_samples<128>(plan, to, first, last);
      default:
        for (std::uint64_t i = first; i < last; ++i)
          Pool::copy(to + i * bytes, plan.samples[i].data, bytes);
    }
  };
  for_each_stretch(pool, plan.sample_count, plan.sample_count * bytes, copy);
}

/// The samples as they are, back to back, and behind each other where they begin: sample_count + 1
/// numbers of 64 bits. Samples that lie one after another, as those of an unshuffled dataset, are
/// copied as one.
template <thread_pool Pool>
void copy_raw_samples(const collate_plan& plan, std::byte* offsets, std::byte* to, Pool& pool) {
  const auto offset_of = [offsets](std::uint64_t i) { return offsets + i * sizeof(std::uint64_t); };
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < plan.sample_count; ++i) {
    store_to(offset_of(i), end);
    end += plan.samples[i].size;
  }
  store_to(offset_of(plan.sample_count), end);
  for_each_stretch(pool, plan.sample_count, end, [&](std::uint64_t first, std::uint64_t last) {
    while (first < last) {
      const std::byte* const from = plan.samples[first].data;
      const std::uint64_t at = load<std::uint64_t>(offset_of(first));
      std::uint64_t bytes = 0;
      for (; first < last && plan.samples[first].data == from + bytes; ++first)
        bytes += plan.samples[first].size;
      Pool::copy(to + at, from, bytes);
    }
  });
}

/// Row `i` of a padded output, its length and its mask.
inline void put_padded(const output_column& out, std::uint64_t width, std::byte* slab,
                       std::uint64_t i, const std::byte* value, std::uint64_t elements) noexcept {
  const std::uint64_t kept = std::min(elements, out.row_elements);
  const std::uint64_t filled = out.row_elements - kept;
  std::byte* const row = slab + out.values_at + i * out.row_elements * width;
  if (kept != 0) std::memcpy(row, value, kept * width);
  fill_elements(row + kept * width, filled, out.pad_value, width);
  std::byte* const mask = slab + out.mask_at + i * out.row_elements;
  std::fill_n(mask, kept, std::byte{1});
  std::fill_n(mask + kept, filled, std::byte{0});
  store_to(slab + out.offsets_at + i * sizeof(std::int64_t), static_cast<std::int64_t>(kept));
}

/// Elements of sample `i` of a ragged output, behind those of the one before, and where they end.
inline void put_ragged(const output_column& out, std::uint64_t width, std::byte* slab,
                       std::uint64_t i, const std::byte* value, std::uint64_t bytes) noexcept {
  std::byte* const offset = slab + out.offsets_at + i * sizeof(std::int64_t);
  const auto begin = load<std::uint64_t>(offset);
  if (bytes != 0) std::memcpy(slab + out.values_at + begin * width, value, bytes);
  store_to(offset + sizeof(std::int64_t), begin + bytes / width);
}

inline void put_value(const output_column& out, const source_column& source, std::byte* slab,
                      std::uint64_t i, const std::byte* value, std::uint64_t bytes) noexcept {
  if (out.kind == output_kind::packed) return;  // goes by segments
  skip_shape(source, value, bytes);
  const std::uint64_t width = size_of(source.type);
  if (out.kind == output_kind::padded) return put_padded(out, width, slab, i, value, bytes / width);
  if (out.kind == output_kind::ragged) return put_ragged(out, width, slab, i, value, bytes);
  if (bytes != 0) std::memcpy(slab + out.values_at + i * bytes, value, bytes);
}

/// Whether a sample's place in every output follows from its number.
[[nodiscard]] inline bool has_rows_only(const collate_plan& plan) noexcept {
  const std::span outputs(plan.outputs, plan.output_count);
  return std::ranges::all_of(outputs, [](const output_column& out) {
    return out.kind == output_kind::dense || out.kind == output_kind::padded;
  });
}

/// Samples [first, last), value by value.
inline void put_samples(const collate_plan& plan, std::byte* slab, std::uint64_t first,
                        std::uint64_t last) noexcept {
  const std::span sources(plan.sources, plan.source_count);
  for (const output_column& out : std::span(plan.outputs, plan.output_count))
    if (out.kind == output_kind::ragged) store_to(slab + out.offsets_at, std::int64_t{0});
  for (std::uint64_t i = first; i < last; ++i) {
    for_each_value(sources, plan.variable_count, plan.samples[i],
                   [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                     put_value(plan.outputs[column], sources[column], slab, i, value, bytes);
                   });
  }
}

}  // namespace detail

/// Writes the batch that `plan` describes into `slab` (`plan.slab_bytes` bytes, aligned to
/// `alignment`). Padding between columns is left as it was. Rows and whole samples are copied by
/// all of the pool, ragged and packed columns by the calling thread alone. Precondition: the
/// samples passed `measure`, and the plan is as `collate_plan` says.
template <detail::thread_pool Pool>
void execute(const collate_plan& plan, std::byte* slab, Pool& pool) {
  if (plan.output_count != 0 && plan.outputs[0].kind == output_kind::samples)
    return detail::copy_raw_samples(plan, slab + plan.outputs[0].offsets_at,
                                    slab + plan.outputs[0].values_at, pool);
  if (plan.source_count == 1 && plan.sources[0].value_bytes != 0 && !plan.sources[0].shaped)
    return detail::copy_whole_samples(plan, slab + plan.outputs[0].values_at, pool);
  if (detail::has_rows_only(plan))
    return detail::for_each_stretch(pool, plan.sample_count, plan.slab_bytes,
                                    [&](std::uint64_t first, std::uint64_t last) {
                                      detail::put_samples(plan, slab, first, last);
                                    });
  detail::put_samples(plan, slab, 0, plan.sample_count);
  if (plan.output_count > plan.source_count) detail::execute_packed(plan, slab);
}

inline void execute(const collate_plan& plan, std::byte* slab) {
  detail::serial self;
  execute(plan, slab, self);
}

}  // namespace mdstream::inline v0::collate
