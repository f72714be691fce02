#pragma once

/// Lowers a collate plan for kernels: copies the samples and every table into one block that goes
/// to the device in one piece.

#include <mdstream/collate/detail/staged_plan.hpp>
#include <mdstream/collate/execute.hpp>
#include <mdstream/collate/plan.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

namespace mdstream::inline v0::collate::detail {

/// Where everything lies on the device: the slab, the block that the host writes, and behind it
/// what kernels use among themselves. Allocates nothing; the plan has to outlive it.
class staged_block {
 public:
  /// O(samples + segments).
  explicit staged_block(const collate_plan& plan) noexcept : plan_(plan) {
    for (std::uint64_t i = 0; i < plan.sample_count; ++i) raw_bytes_ += plan.samples[i].size;
    for (const output_column& out : outputs()) {
      if (out.kind == output_kind::cu_seqlens) runs_ = out.values_bytes / sizeof(std::int32_t) - 1;
      ragged_ = ragged_ || out.kind == output_kind::ragged;
    }
    place(sources_at_, indexed_sources() * sizeof(staged_source));
    place(regions_at_, plan.output_count * regions_of_an_output * sizeof(staged_region));
    place(runs_at_, (runs_ + 1) * sizeof(staged_run));
    place(offsets_at_, (plan.sample_count + 1) * sizeof(std::uint64_t));
    place(bad_at_, sizeof(std::uint64_t));
    place(raw_at_, raw_bytes_);
    block_bytes_ = end_;
    if (is_indexed()) {
      place(begins_at_, index_bytes());
      place(elements_at_, index_bytes());
    }
    if (ragged_) place(scratch_at_, scratch_bytes());
  }

  /// Bytes that `write` writes.
  [[nodiscard]] std::uint64_t block_bytes() const noexcept { return block_bytes_; }
  /// Where the block belongs in the device's memory, behind the slab.
  [[nodiscard]] std::uint64_t block_at() const noexcept { return align_up(plan_.slab_bytes); }
  /// Bytes of the device's memory in all.
  [[nodiscard]] std::uint64_t device_bytes() const noexcept { return block_at() + end_; }

  /// Writes the block to `host`, the samples by all of the pool, and returns the plan for the
  /// device's memory at `slab`, once the block is copied there. Both are aligned to `alignment`;
  /// `host` has to live until the kernels are launched.
  template <thread_pool Pool>
  [[nodiscard]] staged_plan write(std::byte* host, std::byte* slab, Pool& pool) const {
    std::byte* const device = slab + block_at();
    write_sources(host);
    const std::uint32_t regions = write_regions(host);
    write_runs(host);
    detail::copy_raw_samples(plan_, host + offsets_at_, host + raw_at_, pool);
    store_to(host + bad_at_, staged_plan::no_bad_sample);
    staged_plan out{.raw = device + raw_at_,
                    .raw_bytes = raw_bytes_,
                    .offsets = reinterpret_cast<const std::uint64_t*>(device + offsets_at_),
                    .sample_count = plan_.sample_count,
                    .sources = reinterpret_cast<const staged_source*>(device + sources_at_),
                    .source_count = indexed_sources(),
                    .variable_count = plan_.variable_count,
                    .regions = reinterpret_cast<const staged_region*>(device + regions_at_),
                    .region_count = regions,
                    .runs = reinterpret_cast<const staged_run*>(device + runs_at_),
                    .run_count = runs_,
                    .host_regions = reinterpret_cast<const staged_region*>(host + regions_at_),
                    .bad_sample = reinterpret_cast<std::uint64_t*>(device + bad_at_),
                    .slab = slab,
                    .slab_bytes = plan_.slab_bytes};
    for (const source_column& source : sources()) out.fixed_bytes += source.value_bytes;
    if (is_indexed()) {
      out.begins = reinterpret_cast<std::uint64_t*>(device + begins_at_);
      out.elements = reinterpret_cast<std::uint64_t*>(device + elements_at_);
    }
    if (ragged_) {
      out.scratch = device + scratch_at_;
      out.scratch_bytes = scratch_bytes();
    }
    return out;
  }
  [[nodiscard]] staged_plan write(std::byte* host, std::byte* slab) const {
    serial self;
    return write(host, slab, self);
  }

 private:
  static constexpr std::uint64_t regions_of_an_output = 3;

  [[nodiscard]] std::span<const source_column> sources() const noexcept {
    return {plan_.sources, plan_.source_count};
  }
  [[nodiscard]] std::span<const output_column> outputs() const noexcept {
    return {plan_.outputs, plan_.output_count};
  }
  /// Whole samples are copied without a look at their columns.
  [[nodiscard]] bool is_indexed() const noexcept {
    return plan_.variable_count != 0 && outputs()[0].kind != output_kind::samples;
  }
  [[nodiscard]] std::uint32_t indexed_sources() const noexcept {
    return is_indexed() ? plan_.source_count : 0;
  }
  [[nodiscard]] std::uint64_t index_bytes() const noexcept {
    std::uint64_t rows = 0;
    for (const output_column& out : source_outputs())
      if (goes_to(out) != index_kind::rows) ++rows;
    return rows * plan_.sample_count * sizeof(std::uint64_t);
  }
  /// The outputs of the sources that are indexed.
  [[nodiscard]] std::span<const output_column> source_outputs() const noexcept {
    return outputs().first(indexed_sources());
  }
  /// Rows of a number or a few go to their place at once: to find a sample again takes longer than
  /// to copy them.
  [[nodiscard]] index_kind goes_to(const output_column& out) const noexcept {
    if (out.kind == output_kind::ragged) return index_kind::ragged;
    const source_column& source = plan_.sources[out.source];
    const bool is_row = out.kind == output_kind::dense && is_indexed() && !source.shaped &&
                        source.value_bytes <= 16 && std::has_single_bit(source.value_bytes);
    return is_row ? index_kind::rows : index_kind::ranges;
  }
  /// What a scan of the offsets needs: a few words for each tile of some hundred elements.
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept {
    return (std::uint64_t{1} << 16) + plan_.sample_count;
  }

  void place(std::uint64_t& at, std::uint64_t bytes) noexcept {
    at = end_;
    end_ = align_up(end_ + bytes);
  }

  void write_sources(std::byte* host) const noexcept {
    staged_source next{};
    auto* to = reinterpret_cast<staged_source*>(host + sources_at_);
    for (const output_column& out : source_outputs()) {
      const source_column& source = plan_.sources[out.source];
      next.value_bytes = source.value_bytes;
      next.goes_to = goes_to(out);
      next.to = out.kind == output_kind::ragged ? out.offsets_at : out.values_at;
      next.element_log2 = element_log2(source);
      next.shaped = source.shaped ? 1 : 0;
      ::new (to++) staged_source(next);
      next.variable_before += source.value_bytes == 0 ? 1 : 0;
      next.index_row += next.goes_to == index_kind::rows ? 0 : 1;
    }
  }
  [[nodiscard]] static std::uint16_t element_log2(const source_column& source) noexcept {
    return static_cast<std::uint16_t>(std::countr_zero(size_of(source.type)));
  }

  std::uint32_t write_regions(std::byte* host) const noexcept {
    auto* const first = reinterpret_cast<staged_region*>(host + regions_at_);
    staged_region* to = first;
    const auto add = [&to](const staged_region& region) {
      // A ragged column without elements has offsets all the same.
      if (region.bytes != 0 || region.kind == region_kind::ragged)
        ::new (to++) staged_region(region);
    };
    staged_region value{};  // what all regions of a source's output have
    for (const output_column& out : outputs()) {
      if (out.kind == output_kind::samples) {
        add(values_of(out, value));
        add({.kind = region_kind::sample_offsets,
             .at = out.offsets_at,
             .bytes = (plan_.sample_count + 1) * sizeof(std::int64_t)});
        continue;
      }
      const source_column& source = plan_.sources[out.source];
      const bool is_written_by_index = goes_to(out) == index_kind::rows;
      value.element_log2 = element_log2(source);
      value.value_bytes = source.value_bytes;
      value.row_elements = out.row_elements;
      if (!is_written_by_index) add(values_of(out, value));
      if (out.kind == output_kind::padded) {
        add(lengths_of(out, value));
        add(mask_of(out, value));
      }
      value.fixed_before += source.value_bytes;
      value.index_row += is_written_by_index ? 0 : 1;
    }
    std::sort(first, to, [](const auto& a, const auto& b) { return a.at < b.at; });
    return static_cast<std::uint32_t>(to - first);
  }

  [[nodiscard]] staged_region values_of(const output_column& out,
                                        staged_region region) const noexcept {
    region.kind = kind_of(out.kind);
    region.at = out.values_at;
    region.bytes = out.values_bytes;
    region.offsets_at = out.offsets_at;
    if (out.kind == output_kind::dense || out.kind == output_kind::padded ||
        out.kind == output_kind::packed) {
      const std::uint64_t width = std::uint64_t{1} << region.element_log2;
      if (out.kind == output_kind::dense) region.row_elements = region.value_bytes / width;
      region.by_row = by(region.row_elements * width);
      detail::fill_elements(reinterpret_cast<std::byte*>(&region.pad_value),
                            sizeof region.pad_value / width, out.pad_value, width);
    }
    return region;
  }
  [[nodiscard]] staged_region lengths_of(const output_column& out,
                                         staged_region region) const noexcept {
    region.kind = region_kind::lengths;
    region.at = out.offsets_at;
    region.bytes = plan_.sample_count * sizeof(std::int64_t);
    return region;
  }
  [[nodiscard]] staged_region mask_of(const output_column& out,
                                      staged_region region) const noexcept {
    region.kind = region_kind::mask;
    region.at = out.mask_at;
    region.bytes = plan_.sample_count * out.row_elements;
    region.by_row = by(out.row_elements);
    return region;
  }

  /// Rows of nothing are no region: what divides by them is not used.
  [[nodiscard]] static mdstream::detail::divisor by(std::uint64_t row) noexcept {
    return mdstream::detail::divisor(std::max<std::uint64_t>(row, 1));
  }

  [[nodiscard]] static region_kind kind_of(output_kind kind) noexcept {
    switch (kind) {
      case output_kind::dense: return region_kind::dense;
      case output_kind::ragged: return region_kind::ragged;
      case output_kind::padded: return region_kind::padded;
      case output_kind::packed: return region_kind::packed;
      case output_kind::cu_seqlens: return region_kind::cu_seqlens;
      case output_kind::position_ids: return region_kind::position_ids;
      case output_kind::segment_ids: return region_kind::segment_ids;
      case output_kind::samples: break;
    }
    return region_kind::samples;
  }

  void write_runs(std::byte* host) const noexcept {
    auto* to = reinterpret_cast<staged_run*>(host + runs_at_);
    std::uint64_t end = 0;
    if (runs_ != 0) {
      const std::uint64_t row = plan_.outputs[plan_.output_count - 1].row_elements;
      detail::for_each_run(
          plan_, row, [&](std::uint64_t at, std::uint64_t length, const pack_segment* segment) {
            staged_run run{.at = at};
            if (segment != nullptr) {
              run.sample = segment->sample;
              run.first = segment->first;
            }
            ::new (to++) staged_run(run);
            end = at + length;
          });
    }
    ::new (to) staged_run{.at = end};
  }

  const collate_plan& plan_;
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t runs_ = 0;
  bool ragged_ = false;
  std::uint64_t end_ = 0;
  std::uint64_t sources_at_ = 0, regions_at_ = 0, runs_at_ = 0, offsets_at_ = 0, bad_at_ = 0;
  std::uint64_t raw_at_ = 0, block_bytes_ = 0;
  std::uint64_t begins_at_ = 0, elements_at_ = 0, scratch_at_ = 0;
};

}  // namespace mdstream::inline v0::collate::detail
