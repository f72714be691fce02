#pragma once

/// The host's executor of a collate plan.

#include <mdstream/collate/execute_packed.hpp>
#include <mdstream/collate/measure.hpp>
#include <mdstream/collate/plan.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace mdstream::inline v0::collate {

namespace detail {

/// A batch of one fixed-size column: each sample is its value.
inline void copy_whole_samples(const collate_plan& plan, std::byte* to) noexcept {
  const std::uint64_t bytes = plan.sources[0].value_bytes;
  for (std::uint64_t i = 0; i < plan.sample_count; ++i)
    std::memcpy(to + i * bytes, plan.samples[i].data, bytes);
}

/// The samples as they are.
inline void copy_raw_samples(const collate_plan& plan, std::byte* slab) noexcept {
  std::byte* offset = slab + plan.outputs[0].offsets_at;
  std::byte* to = slab + plan.outputs[0].values_at;
  std::int64_t end = 0;
  store_to(offset, end);
  for (std::uint64_t i = 0; i < plan.sample_count; ++i) {
    const sample_bytes& sample = plan.samples[i];
    if (sample.size != 0) std::memcpy(to + end, sample.data, sample.size);
    end += static_cast<std::int64_t>(sample.size);
    store_to(offset += sizeof end, end);
  }
}

/// Where the next value of an output goes.
class output_cursor {
 public:
  output_cursor(const output_column& out, const source_column& source, std::byte* slab) noexcept
      : out_(&out),
        element_(size_of(source.type)),
        values_(slab + out.values_at),
        number_(slab + out.offsets_at),
        mask_(slab + out.mask_at) {
    if (out.kind == output_kind::ragged) write_number(0);
  }

  void append(const source_column& source, const std::byte* value, std::uint64_t bytes) noexcept {
    if (out_->kind == output_kind::packed) return;  // goes by segments
    skip_shape(source, value, bytes);
    if (out_->kind == output_kind::padded) return append_row(value, bytes / element_);
    if (bytes != 0) std::memcpy(values_, value, bytes);
    values_ += bytes;
    if (out_->kind == output_kind::ragged) write_number(elements_ += bytes / element_);
  }

 private:
  void append_row(const std::byte* value, std::uint64_t elements) noexcept {
    const std::uint64_t kept = std::min(elements, out_->row_elements);
    const std::uint64_t filled = out_->row_elements - kept;
    if (kept != 0) std::memcpy(values_, value, kept * element_);
    fill_elements(values_ + kept * element_, filled, out_->fill, element_);
    values_ += out_->row_elements * element_;
    std::fill_n(mask_, kept, std::byte{1});
    std::fill_n(mask_ + kept, filled, std::byte{0});
    mask_ += out_->row_elements;
    write_number(kept);
  }

  void write_number(std::uint64_t value) noexcept {
    store_to(number_, static_cast<std::int64_t>(value));
    number_ += sizeof(std::int64_t);
  }

  const output_column* out_;
  std::uint64_t element_;
  std::byte* values_;
  std::byte* number_;  // the next offset or length
  std::byte* mask_;
  std::uint64_t elements_ = 0;
};

}  // namespace detail

/// Writes the batch that `plan` describes into `slab` (`plan.slab_bytes` bytes, aligned to
/// `alignment`). Padding between columns is left as it was. Precondition: the samples passed
/// `measure`, and the plan is as `collate_plan` says.
inline void execute(const collate_plan& plan, std::byte* slab) {
  if (plan.output_count != 0 && plan.outputs[0].kind == output_kind::samples)
    return detail::copy_raw_samples(plan, slab);
  if (plan.source_count == 1 && plan.sources[0].value_bytes != 0 && !plan.sources[0].shaped)
    return detail::copy_whole_samples(plan, slab + plan.outputs[0].values_at);

  const std::span sources(plan.sources, plan.source_count);
  std::vector<detail::output_cursor> cursors;
  cursors.reserve(sources.size());
  for (std::size_t k = 0; k < sources.size(); ++k)
    cursors.emplace_back(plan.outputs[k], sources[k], slab);
  for (std::uint64_t i = 0; i < plan.sample_count; ++i) {
    for_each_value(sources, plan.variable_count, plan.samples[i],
                   [&](std::size_t column, const std::byte* value, std::uint64_t bytes) {
                     cursors[column].append(sources[column], value, bytes);
                   });
  }
  if (plan.output_count > plan.source_count) detail::execute_packed(plan, slab);
}

}  // namespace mdstream::inline v0::collate
