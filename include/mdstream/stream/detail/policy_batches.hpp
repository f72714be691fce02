#pragma once

/// What the policies do with every sample: reads rows, transforms, collates, stages.

#include <mdstream/batch.hpp>
#include <mdstream/collate/detail/measure.hpp>
#include <mdstream/collate/detail/source.hpp>
#include <mdstream/collate/transform.hpp>
#include <mdstream/core/detail/mapped_files.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/corpus.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What went wrong with a sample on its way, named, with the exception at hand beneath.
[[noreturn]] void rethrow_for_sample(const mapped_samples& of, sample_location at, bool transforms);

/// A sample as it lies in its shard.
struct stored_sample {
  sample_location at{};
  bytes_view bytes{};
};

/// The bytes of a sample of one of the batch's shards. Throws `errc::corrupt` if its place there is
/// bad. Precondition: the shards are held.
[[nodiscard]] bytes_view bytes_in_shard(const mapped_samples& of, sample_location at);

/// The sample to be tried in place of sample `i` of the batch, for which `tried` failed with the
/// exception at hand. Throws that, as `rethrow_for_sample`, where no other is read; throws
/// `errc::corrupt` where all of the shard, or `most_bad_in_a_row`, are bad.
[[nodiscard]] stored_sample next_candidate(const mapped_samples& of, std::size_t i,
                                           sample_location tried, bool transforms);

/// Keeps its memory from batch to batch.
template <class Policies>
class policy_batches final : public batch_builder {
 public:
  using schema = typename Policies::schema;
  using transform_type = typename Policies::transform;
  using collator = typename Policies::collator;
  using stager = typename Policies::stager;
  using batch_type = batch<batch_schema<Policies>, typename stager::slot, collator>;
  using parts = batch_parts<typename stager::slot>;

  explicit policy_batches(transform_type transform)
      : batch_builder({.transforms = transforms,
                       .results_vary = results_vary,
                       .in_stretches = collate::packs_groups<collator>,
                       .prefetched_batches = stage::prefetched_batches<stager>}),
        transform_(std::move(transform)) {}

  /// The parts of a batch that a builder of these policies made.
  [[nodiscard]] static parts& parts_of(untyped_batch& of) noexcept {
    return static_cast<made&>(of).of;
  }

  void open(const sample_layout& layout) override {
    if constexpr (transforms)
      settle(transform_type::output::layout());
    else
      settle(layout);
  }

  [[nodiscard]] std::unique_ptr<untyped_batch> make() const override {
    return std::make_unique<made>();
  }

  void prepare(const mapped_samples& of, prepared_samples& into,
               std::size_t worker) const override {
    into.work(worker, [&](std::size_t i, prepared_samples::memory& memory) {
      if (results_vary && of.batch.ids[i] < 0) return;  // batches have no size to be padded to
      const std::size_t begin = memory.samples.size(), results = memory.ends.size();
      stored_sample sample{of.batch.locations[i], of.bytes[i]};
      while (!try_one(of, i, sample, memory)) {
        memory.samples.resize(begin);
        memory.ends.resize(results);
        into.replace(i, sample.at);
      }
    });
  }

  std::uint64_t build(const batch_rows& rows, untyped_batch& into) override {
    parts& out = parts_of(into);
    out.columns = columns_;
    out.ids.assign(rows.ids.begin(), rows.ids.end());
    out.slot = {};  // given back before the next is taken, so that one buffer can serve a loop
    const collate::detail::pack_result layout = lay_out(rows, out.outputs);
    out.pack_rows = layout.rows;
    out.slot = stage({.samples = rows.samples.data(),
                      .sample_count = rows.samples.size(),
                      .sources = columns_->sources.data(),
                      .source_count = static_cast<std::uint32_t>(columns_->sources.size()),
                      .variable_count = variable_count_,
                      .outputs = out.outputs.data(),
                      .output_count = static_cast<std::uint32_t>(out.outputs.size()),
                      .slab_bytes = layout.slab_bytes,
                      .segments = segments_.data(),
                      .segment_count = segments_.size(),
                      .pack_rows = layout.rows});
    out.epoch = into.epoch;
    out.number = into.number;
    return layout.slab_bytes;
  }

 private:
  static constexpr bool transforms = !std::same_as<transform_type, transform::none>;
  static constexpr bool results_vary = makes_results<transform_type, schema>;
  static_assert(!results_vary || collate::detail::results_collator<collator>,
                "mdstream: a collator of rows takes the numbers of the samples, too, where the "
                "transform makes any number of results (collate/collator.hpp)");

  struct made final : untyped_batch {
    parts of{};
    void clear() override { of = {}; }
  };

  void settle(const sample_layout& layout) {
    batch_columns columns{.sources = collate::detail::sources_of<collator>(layout),
                          .layout = layout};
    for (const column_layout& column : layout.columns()) {
      columns.names.push_back(column.name);
      columns.shapes.push_back(column.type.dims);
    }
    variable_count_ = static_cast<std::uint32_t>(layout.variable_columns());
    measures_.resize(columns.sources.size());
    columns_ = std::make_shared<const batch_columns>(std::move(columns));
  }

  /// Prepares sample `i` from `sample`; false where that is bad, and is another one now.
  bool try_one(const mapped_samples& of, std::size_t i, stored_sample& sample,
               prepared_samples::memory& memory) const {
    try {
      read_mapped([&] { prepare_one(of, i, sample, memory); });
      return true;
    } catch (...) {
      sample = next_candidate(of, i, sample.at, transforms);
      return false;
    }
  }

  /// Whether the collator takes a sample, before it gets a batch of them. Throws what it would.
  void check_prepared(bytes_view prepared) const {
    if constexpr (!collate::sample_collator<collator>) {
      const std::span<const collate::source_column> sources = columns_->sources;
      const collate::sample_bytes one{prepared.data(), prepared.size()};
      collate::detail::measure_sample(sources, variable_count_, one, 0,
                                      [](std::size_t, std::uint64_t) {});
      std::uint64_t length = 0;
      check_lengths({&one, 1}, {&length, 1});
    }
  }

  /// Appends the prepared sample, or its results, to `memory`. Where it is not used as it is
  /// stored, it is put into its form first, in the scratch where it is transformed after that.
  void prepare_one(const mapped_samples& of, [[maybe_unused]] std::size_t i,
                   const stored_sample& from, prepared_samples::memory& memory) const {
    const sample_form& stored = of.from.form(from.at.shard);
    std::size_t begin = memory.samples.size();
    [[maybe_unused]] const std::size_t results = memory.ends.size();
    bytes_view sample = from.bytes;
    if (of.shards != nullptr) {
      if (sample.data() == nullptr && !of.shards->empty()) sample = bytes_in_shard(of, from.at);
      stored.check(sample);
    }
    // Where others are converted, all are: the batch is built of what was prepared.
    if (!transforms || !stored.as_stored()) {
      std::vector<std::byte>& form = transforms ? memory.scratch : memory.samples;
      if (transforms) form.clear();
      stored.append(sample, form);
      sample = form;
    }
    if constexpr (transforms) {
      const std::uint64_t place =
          of.seed.first_place + of.batch.number * of.seed.global_batch_size + of.batch.places[i];
      sample_generator random(of.seed.seed, of.seed.epoch, place);
      const sample_view<schema> in(sample, of.from.layout(from.at.shard));
      apply(in, random, memory);
    }
    if (of.shards == nullptr) return;
    if constexpr (results_vary) {
      for (std::size_t k = results; k < memory.ends.size(); ++k) {
        check_prepared(bytes_view(memory.samples).subspan(begin, memory.ends[k] - begin));
        begin = memory.ends[k];
      }
    } else {
      check_prepared(bytes_view(memory.samples).subspan(begin));
    }
  }

  /// Appends what the transform makes of a sample.
  void apply(const sample_view<schema>& in, sample_generator& random,
             prepared_samples::memory& memory) const {
    if constexpr (results_vary) {
      results_writer<typename transform_type::output> out(memory.samples, memory.ends);
      transform_(in, out, random);
    } else {
      sample_writer<typename transform_type::output> out(memory.samples);
      transform_(in, out, random);
      if (!out.written())
        throw error(errc::invalid_argument,
                    "the transform wrote no sample; to leave samples out it takes a "
                    "results_writer");
    }
  }

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
  [[nodiscard]] collate::detail::pack_result lay_out(const batch_rows& rows,
                                                     std::vector<collate::output_column>& outputs) {
    const std::span<const collate::sample_bytes> samples = rows.samples;
    const std::span<const collate::source_column> sources = columns_->sources;
    if constexpr (collate::sample_collator<collator>) {
      std::uint64_t bytes = 0;
      for (const collate::sample_bytes& sample : samples) bytes += sample.size;
      return {.slab_bytes = collator_.lay_out(bytes, samples.size(), outputs)};
    } else {
      collate::detail::measure(sources, variable_count_, samples, measures_);
      if constexpr (collate::row_collator<collator>) lengths_.resize(samples.size());
      check_lengths(samples, lengths_);
      if constexpr (collate::row_collator<collator> && results_vary)
        return collator_.pack(sources, measures_, lengths_, outputs, segments_, rows.made_of);
      else if constexpr (collate::row_collator<collator>)
        return collator_.pack(sources, measures_, lengths_, outputs, segments_);
      else
        return {.slab_bytes = collator_.lay_out(sources, measures_, samples.size(), outputs)};
    }
  }

  /// Checks the sequences of measured samples; where rows are packed, also sets their lengths.
  void check_lengths(std::span<const collate::sample_bytes> samples,
                     [[maybe_unused]] std::span<std::uint64_t> lengths) const {
    refuse_overlong(samples);
    if constexpr (collate::row_collator<collator>)
      collate::detail::measure_sequences(columns_->sources, variable_count_, samples, lengths);
  }

  void refuse_overlong(std::span<const collate::sample_bytes> samples) const {
    constexpr std::uint64_t most = collate::longest_sequence<collator>;
    if constexpr (most != 0) {
      const auto found = collate::detail::find_longest(columns_->sources, variable_count_, samples);
      if (found.elements > most)
        throw collate::detail::bad_sample(found.index, found.byte,
                                          "a sequence of " + std::to_string(found.elements) +
                                              " elements is longer than a row of " +
                                              std::to_string(most),
                                          errc::out_of_range);
    }
  }

  [[no_unique_address]] transform_type transform_;
  std::shared_ptr<const batch_columns> columns_;
  std::uint32_t variable_count_ = 0;
  collator collator_;
  stager stager_;
  std::vector<collate::detail::column_measure> measures_;
  std::vector<std::uint64_t> lengths_;           // where rows are packed
  std::vector<collate::pack_segment> segments_;  // where rows are packed
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/policy_batches.ipp>
#endif
