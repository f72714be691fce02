#pragma once

/// Puts batches together: from the samples of mapped shards to a staged slot.

#include <mdstream/batch.hpp>
#include <mdstream/collate/measure.hpp>
#include <mdstream/collate/source.hpp>
#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Collates with the policies' collator into the policies' stager. Keeps its memory from batch to
/// batch. Not thread-safe.
template <class Policies>
class assembler {
 public:
  using stager = typename Policies::stager;
  using collator = typename Policies::collator;
  using parts = batch_parts<typename stager::slot>;

  /// Throws `errc::unsupported`, naming the column, where the collator does not take it.
  explicit assembler(const sample_layout& layout)
      : columns_(std::make_shared<const batch_columns>(columns_of(layout))),
        variable_count_(static_cast<std::uint32_t>(layout.variable_columns())),
        measures_(columns_->sources.size()) {}

  /// Fills `out` with these samples, one for each id.
  /// Throws `collate::bad_sample` for a sample that can not be collated.
  void build(std::span<const std::int64_t> ids, std::span<const collate::sample_bytes> samples,
             parts& out) {
    out.columns = columns_;
    out.ids.assign(ids.begin(), ids.end());
    out.slot = {};  // given back before the next is taken, so that one buffer can serve a loop
    const collate::pack_result layout = lay_out(samples, out.outputs);
    out.pack_rows = layout.rows;
    slab_bytes_ = layout.slab_bytes;
    out.slot = stage({.samples = samples.data(),
                      .sample_count = samples.size(),
                      .sources = columns_->sources.data(),
                      .source_count = static_cast<std::uint32_t>(columns_->sources.size()),
                      .variable_count = variable_count_,
                      .outputs = out.outputs.data(),
                      .output_count = static_cast<std::uint32_t>(out.outputs.size()),
                      .slab_bytes = layout.slab_bytes,
                      .segments = segments_.data(),
                      .segment_count = segments_.size(),
                      .pack_rows = layout.rows});
  }

  /// Of the last batch.
  [[nodiscard]] std::uint64_t slab_bytes() const noexcept { return slab_bytes_; }

 private:
  [[nodiscard]] typename stager::slot stage(const collate::collate_plan& plan) {
    try {
      return stager_.stage(plan);
    } catch (const std::bad_alloc&) {
      throw error(errc::invalid_argument,
                  "there is no memory for a batch of " + std::to_string(plan.sample_count) +
                      " samples, which takes " + std::to_string(plan.slab_bytes) +
                      " bytes: make batch_size smaller");
    }
  }

  /// Checks the samples and decides where everything goes.
  [[nodiscard]] collate::pack_result lay_out(std::span<const collate::sample_bytes> samples,
                                             std::vector<collate::output_column>& outputs) {
    const std::span<const collate::source_column> sources = columns_->sources;
    if constexpr (collate::sample_collator<collator>) {
      std::uint64_t bytes = 0;
      for (const collate::sample_bytes& sample : samples) bytes += sample.size;
      return {.slab_bytes = collator_.lay_out(bytes, samples.size(), outputs)};
    } else {
      collate::measure(sources, variable_count_, samples, measures_);
      refuse_overlong(samples);
      if constexpr (collate::row_collator<collator>) {
        lengths_.resize(samples.size());
        collate::measure_sequences(sources, variable_count_, samples, lengths_);
        return collator_.pack(sources, measures_, lengths_, outputs, segments_);
      } else {
        return {.slab_bytes = collator_.lay_out(sources, measures_, samples.size(), outputs)};
      }
    }
  }

  void refuse_overlong(std::span<const collate::sample_bytes> samples) const {
    constexpr std::uint64_t most = collate::longest_sequence<collator>;
    if constexpr (most != 0) {
      const auto found = collate::find_longest(columns_->sources, variable_count_, samples);
      if (found.elements > most)
        throw collate::bad_sample(found.index, found.byte,
                                  "a sequence of " + std::to_string(found.elements) +
                                      " elements is longer than a row of " + std::to_string(most),
                                  errc::out_of_range);
    }
  }

  static batch_columns columns_of(const sample_layout& layout) {
    batch_columns out{.sources = collate::sources_of<collator>(layout), .layout = layout};
    for (const column_layout& column : layout.columns()) {
      out.names.push_back(column.name);
      out.shapes.push_back(column.type.dims);
    }
    return out;
  }

  std::shared_ptr<const batch_columns> columns_;
  std::uint32_t variable_count_;
  collator collator_;
  stager stager_;
  std::uint64_t slab_bytes_ = 0;
  std::vector<collate::column_measure> measures_;
  std::vector<std::uint64_t> lengths_;           // where rows are packed
  std::vector<collate::pack_segment> segments_;  // where rows are packed
};

}  // namespace mdstream::inline v0
