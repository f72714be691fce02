#pragma once

/// The order of a run: of one mix, or of a schedule of mixes.

#include <mdstream/core/error.hpp>
#include <mdstream/order/fingerprint.hpp>
#include <mdstream/order/mix_schedule.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/stream/plan_keeper.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// Immutable; any thread may ask.
template <shuffler Shuffler>
class run_order {
 public:
  using engine_type = order_engine<Shuffler>;

  /// The rest of an epoch.
  struct epoch_part {
    epoch_order order{};
    std::uint64_t batches = 0;  ///< of `order` that belong to it
  };

  /// `phases` empty: the streams' own weights, in epochs that end with a batch which may be short.
  /// Throws `errc::invalid_argument` where streams and phases both have weights, and as
  /// `order_engine` and `mix_schedule` do.
  run_order(std::span<const stream_shards> streams, const order_options& options,
            std::vector<mix_phase> phases, std::uint64_t global_batch_size, Shuffler shuffler)
      : global_batch_size_(global_batch_size) {
    if (phases.empty()) {
      single_.emplace(streams, options, std::move(shuffler));
      note(*single_);
      return;
    }
    refuse_other_weights(streams);
    for (mix_phase& phase : phases)
      if (!phase.epoch_size) phase.epoch_size = options.epoch_size;
    schedule_.emplace(streams, options, phases, global_batch_size, std::move(shuffler));
    note(schedule_->engine(0));
  }

  /// Throws as `order_engine::epoch` does. Phases are short: their plans are not kept.
  [[nodiscard]] epoch_part epoch(const world& parallel, std::uint64_t batch_size,
                                 const epoch_start& start, const plan_keeper& plans = {}) const {
    if (single_) {
      epoch_order order = plans.open(*single_, parallel, batch_size, start);
      return {std::move(order), std::numeric_limits<std::uint64_t>::max()};
    }
    const auto place = schedule_->in_epoch(start.epoch, start.sample_in_epoch / global_batch_size_);
    return {schedule_->order(place, parallel, batch_size, start), place.batches_left};
  }

  /// Whether every sample of the epoch comes before the place: then nothing is left of it in any
  /// world. What a world repeats to deal all ranks the same is less than a few global batches.
  [[nodiscard]] bool is_finished(const resume_point& at) const {
    if (!single_ || single_->options().batching != batching_method::random) return false;
    const std::uint64_t samples = single_->epoch_size();
    return at.sample_in_epoch >= positions_of_all(samples, at.num_canonical_nodes) &&
           at.sample_in_epoch <= samples + at.num_canonical_nodes + 4 * global_batch_size_;
  }

  /// Throws `errc::invalid_argument` where the world is none for what `run` does next: the epoch
  /// at hand, or the first one of a later phase.
  void check(const world& parallel, std::uint64_t batch_size, progress run) const {
    epoch_start start = run.begin_epoch(parallel);
    if (start.finished || schedule_) start.sample_in_epoch = 0;
    start.finished = false;
    const std::size_t phases = single_ ? 1 : schedule_->phases();
    for (std::size_t i = phase_of(start.epoch); i < phases; ++i)
      engine(i).check(parallel, batch_size, start);
  }

  /// Makes the plan of the epoch after those of `run`, where it is one to keep; a single worker is
  /// left to fetches, which would wait for the seconds that it takes.
  void prepare(const plan_keeper& plans, runtime& threads, const world& parallel,
               std::uint64_t batch_size, const progress& run) const {
    if (single_ && threads.threads() > 1)
      plans.prepare(threads, *single_, parallel, batch_size, run);
  }

  /// A run that has not begun.
  [[nodiscard]] progress begin_run() const { return engine(0).begin_run(); }

  /// The phase that an epoch belongs to; 0 without a schedule.
  [[nodiscard]] std::size_t phase_of(std::uint64_t epoch) const {
    return single_ ? 0 : schedule_->in_epoch(epoch, 0).phase;
  }
  [[nodiscard]] const engine_type& engine(std::size_t phase) const {
    return single_ ? *single_ : schedule_->engine(phase);
  }
  [[nodiscard]] std::uint64_t dataset_fingerprint() const noexcept { return dataset_; }
  /// Of the mix up to a phase. The first one has that of a run without a schedule, which so can be
  /// gone on with under one.
  [[nodiscard]] std::uint64_t mix_fingerprint(std::size_t phase) const {
    return phase == 0 ? first_mix_ : schedule_->fingerprint(phase);
  }

 private:
  void note(const engine_type& first) {
    dataset_ = fingerprint(first.shards());
    first_mix_ = fingerprint(first.mix());
  }

  static void refuse_other_weights(std::span<const stream_shards> streams) {
    if (std::ranges::any_of(streams, [](const stream_shards& each) {
          return each.weight.proportion || each.weight.repeat || each.weight.choose;
        }))
      throw error(errc::invalid_argument,
                  "the weights of a mix schedule are those of its phases: streams have none");
  }

  std::uint64_t global_batch_size_;
  std::optional<engine_type> single_;
  std::optional<mix_schedule<Shuffler>> schedule_;
  std::uint64_t dataset_ = 0;
  std::uint64_t first_mix_ = 0;
};

}  // namespace mdstream::inline v0
