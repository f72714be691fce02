#pragma once

/// The order of a run: of one mix, or of a schedule of mixes.

#include <mdstream/order/mix_schedule.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/progress.hpp>
#include <mdstream/stream/detail/plan_keeper.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/stream/subset.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// Immutable; any thread may ask.
class run_order {
 public:
  using engine_type = plan_keeper::engine_type;

  /// The rest of an epoch.
  struct epoch_part {
    epoch_order order{};
    std::uint64_t batches = 0;  ///< of `order` that belong to it
  };

  /// `phases` empty: the streams' own weights, in epochs that end with a batch which may be short.
  /// `subset`: the samples that `streams` count, if they are not all; the order is one of them.
  /// `drop_last`: epochs end before the first batch that is short on some rank.
  /// Throws `errc::invalid_argument` where streams and phases both have weights, for phases or
  /// `drop_last` with `batching_method::once`, and as `order_engine` and `mix_schedule` do.
  run_order(std::span<const stream_shards> streams, const order_options& options,
            std::vector<mix_phase> phases, std::uint64_t global_batch_size,
            detail::erased_shuffler shuffler, std::optional<sample_subset> subset = {},
            bool drop_last = false);

  /// Throws as `order_engine::epoch` does. Phases are short: their plans are not kept.
  [[nodiscard]] epoch_part epoch(const world& parallel, std::uint64_t batch_size,
                                 const epoch_start& start, const plan_keeper& plans = {}) const;

  /// Whether every sample of the epoch comes before the place: then nothing is left of it in any
  /// world. What a world repeats to deal all ranks the same is less than a few global batches, of
  /// `largest_batch` samples at the most.
  [[nodiscard]] bool is_finished(const resume_point& at, std::uint64_t largest_batch) const;

  /// Where a state continues that another run has saved, of which the user accepts what differs
  /// from `here`: in its epoch where that has the same samples in the same order, otherwise with
  /// the next one. Throws `errc::unsupported` for phases, which end with a batch of their own size.
  [[nodiscard]] resume_point place_of(const run_state& saved, const run_identity& here) const;

  /// Throws `errc::invalid_argument` where the world is none for what `run` does next, the epoch
  /// at hand or the first one of a later phase, and where `drop_last` leaves nothing of an epoch.
  void check(const world& parallel, std::uint64_t batch_size, progress run) const;

  /// Batches of each rank in the rest of an epoch. Throws as `order_engine::batches`.
  [[nodiscard]] std::uint64_t batches(const world& parallel, std::uint64_t batch_size,
                                      const epoch_start& start) const;

  /// Whether no rank has a sample in that rest. Where streams are dealt on their own, opens the
  /// epoch.
  [[nodiscard]] bool is_spent(const world& parallel, std::uint64_t batch_size,
                              const epoch_start& start) const;

  /// Samples of `parallel.rank` in that rest, padding not counted. `in_stretches`: as
  /// `lookahead_rules` say. Opens the epoch.
  [[nodiscard]] std::uint64_t samples_of_rank(const world& parallel, std::uint64_t batch_size,
                                              const epoch_start& start, bool in_stretches) const;

  /// Makes the plan of the epoch after those of `run`, where it is one to keep; a single worker is
  /// left to fetches, which would wait for the seconds that it takes.
  void prepare(const plan_keeper& plans, runtime& threads, const world& parallel,
               std::uint64_t batch_size, const progress& run) const;

  /// A run that has not begun.
  [[nodiscard]] progress begin_run() const { return engine(0).begin_run(); }

  /// The phase that an epoch belongs to; 0 without a schedule.
  [[nodiscard]] std::size_t phase_of(std::uint64_t epoch) const {
    return single_ ? 0 : schedule_->in_epoch(epoch, 0).phase;
  }
  [[nodiscard]] const engine_type& engine(std::size_t phase) const {
    return single_ ? *single_ : schedule_->engine(phase);
  }
  /// Whether it is that of `batching_method::once`.
  [[nodiscard]] bool reads_once() const noexcept {
    return single_ && single_->options().batching == batching_method::once;
  }
  [[nodiscard]] bool has_subset() const noexcept { return subset_.has_value(); }
  [[nodiscard]] bool has_phases() const noexcept { return schedule_.has_value(); }
  /// Whether the order of samples is the same with batches of any size, so that a run can change
  /// them in the middle of an epoch.
  [[nodiscard]] bool suits_any_batch_size() const noexcept {
    return single_ && (single_->options().batching == batching_method::random || reads_once());
  }
  [[nodiscard]] std::uint64_t dataset_fingerprint() const noexcept { return dataset_; }
  /// Of the mix up to a phase. The first one has that of a run without a schedule, which so can be
  /// gone on with under one.
  [[nodiscard]] std::uint64_t mix_fingerprint(std::size_t phase) const {
    return phase == 0 ? first_mix_ : schedule_->fingerprint(phase);
  }

 private:
  void note(const engine_type& first);

  /// The order of the subset's numbers as one of sample ids.
  [[nodiscard]] epoch_order with_ids(epoch_order order) const;

  static void refuse_other_weights(std::span<const stream_shards> streams);

  std::uint64_t global_batch_size_;
  std::optional<engine_type> single_;
  std::optional<mix_schedule<detail::erased_shuffler>> schedule_;
  std::optional<sample_subset> subset_;
  bool drop_last_ = false;
  std::uint64_t dataset_ = 0;
  std::uint64_t first_mix_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/run_order.ipp>
#endif
