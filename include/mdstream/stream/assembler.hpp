#pragma once

/// Puts batches together: from the samples of mapped shards to a staged slot.

#include <mdstream/batch.hpp>
#include <mdstream/collate/measure.hpp>
#include <mdstream/collate/source.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/lookahead.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
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

  /// Fills `out` with the samples of `from`; `bytes_of(location)` gives the bytes of one.
  /// Throws `collate::bad_sample` for a sample that contradicts itself, and what `bytes_of` throws.
  template <class BytesOf>
  void build(const upcoming_batch& from, const BytesOf& bytes_of, parts& out) {
    // Samples of a shuffled batch lie anywhere: all are asked for before the first is copied, so
    // that their cache misses overlap.
    samples_.clear();
    for (const sample_location at : from.locations) {
      const bytes_view bytes = bytes_of(at);
      samples_.push_back({bytes.data(), bytes.size()});
      prefetch_lines(bytes);
    }
    collate::measure(columns_->sources, variable_count_, samples_, measures_);
    out.columns = columns_;
    out.ids.assign(from.ids.begin(), from.ids.end());
    out.slot = {};  // given back before the next is taken, so that one buffer can serve a loop
    const std::uint64_t slab_bytes =
        collator_.lay_out(columns_->sources, measures_, samples_.size(), out.outputs);
    out.slot = stager_.stage({.samples = samples_.data(),
                              .sample_count = samples_.size(),
                              .sources = columns_->sources.data(),
                              .source_count = static_cast<std::uint32_t>(columns_->sources.size()),
                              .variable_count = variable_count_,
                              .outputs = out.outputs.data(),
                              .output_count = static_cast<std::uint32_t>(out.outputs.size()),
                              .slab_bytes = slab_bytes});
  }

 private:
  static batch_columns columns_of(const sample_layout& layout) {
    batch_columns out{.sources = collate::sources_of<collator>(layout)};
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
  std::vector<collate::sample_bytes> samples_;
  std::vector<collate::column_measure> measures_;
};

}  // namespace mdstream::inline v0
