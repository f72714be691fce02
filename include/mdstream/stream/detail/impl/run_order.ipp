#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/order/detail/fingerprint.hpp>
#include <mdstream/order/detail/partition.hpp>
#include <mdstream/stream/detail/renumbered.hpp>
#include <mdstream/stream/detail/run_order.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE run_order::run_order(std::span<const stream_shards> streams,
                                     const order_options& options, std::vector<mix_phase> phases,
                                     std::uint64_t global_batch_size,
                                     detail::erased_shuffler shuffler,
                                     std::optional<sample_subset> subset, bool drop_last)
    : global_batch_size_(global_batch_size), subset_(std::move(subset)), drop_last_(drop_last) {
  if (drop_last && options.batching == batching_method::once)
    throw error(errc::invalid_argument,
                "batching \"once\" reads every sample, but drop_last would leave some out");
  if (phases.empty()) {
    single_.emplace(streams, options, std::move(shuffler));
    note(*single_);
    return;
  }
  refuse_other_weights(streams);
  if (options.batching == batching_method::once)
    throw error(errc::invalid_argument,
                "batching \"once\" reads all streams in one mix: set no phases");
  for (mix_phase& phase : phases)
    if (!phase.epoch_size) phase.epoch_size = options.epoch_size;
  schedule_.emplace(streams, options, phases, global_batch_size, std::move(shuffler));
  note(schedule_->engine(0));
}

MDSTREAM_INLINE run_order::epoch_part run_order::epoch(const world& parallel,
                                                       std::uint64_t batch_size,
                                                       const epoch_start& start,
                                                       const plan_keeper& plans) const {
  if (single_) {
    epoch_order order = plans.open(*single_, parallel, batch_size, start);
    return {with_ids(std::move(order)), drop_last_ ? batches(parallel, batch_size, start)
                                                   : std::numeric_limits<std::uint64_t>::max()};
  }
  const auto place = schedule_->in_epoch(start.epoch, start.sample_in_epoch / global_batch_size_);
  return {with_ids(schedule_->order(place, parallel, batch_size, start)), place.batches_left};
}

MDSTREAM_INLINE epoch_order run_order::with_ids(epoch_order order) const {
  if (!subset_) return order;
  const std::uint64_t global_batch = order.global_batch_size();
  const batch_deal deal = order.deal();
  const std::uint64_t filled = order.filled_batches();
  return {renumbered(std::move(order), *subset_), global_batch, deal, filled};
}

MDSTREAM_INLINE bool run_order::is_finished(const resume_point& at,
                                            std::uint64_t largest_batch) const {
  if (!single_) return false;
  const std::uint64_t samples = single_->epoch_size();
  if (reads_once()) return at.sample_in_epoch >= samples;
  if (single_->options().batching != batching_method::random) return false;
  return at.sample_in_epoch >= positions_of_all(samples, at.num_canonical_nodes) &&
         at.sample_in_epoch <= samples + at.num_canonical_nodes + 4 * largest_batch;
}

MDSTREAM_INLINE void run_order::check(const world& parallel, std::uint64_t batch_size,
                                      progress run) const {
  epoch_start start = run.begin_epoch(parallel);
  if (schedule_) start.sample_in_epoch = 0;
  const std::size_t phases = single_ ? 1 : schedule_->phases();
  for (std::size_t i = phase_of(start.epoch); i < phases; ++i)
    static_cast<void>(engine(i).batches(parallel, batch_size, start));
  if (!drop_last_) return;
  start.sample_in_epoch = 0;
  if (batches(parallel, batch_size, start) == 0)
    throw error(errc::invalid_argument, "drop_last leaves nothing of an epoch of " +
                                            std::to_string(engine(0).epoch_size()) +
                                            " samples, which do not fill a global batch of " +
                                            std::to_string(global_batch_size_));
}

MDSTREAM_INLINE std::uint64_t run_order::batches(const world& parallel, std::uint64_t batch_size,
                                                 const epoch_start& start) const {
  if (single_)
    return drop_last_ ? single_->full_batches(parallel, batch_size, start)
                      : single_->batches(parallel, batch_size, start);
  return schedule_->in_epoch(start.epoch, start.sample_in_epoch / global_batch_size_).batches_left;
}

MDSTREAM_INLINE bool run_order::is_spent(const world& parallel, std::uint64_t batch_size,
                                         const epoch_start& start) const {
  return batches(parallel, batch_size, start) == 0;
}

MDSTREAM_INLINE std::uint64_t run_order::samples_of_rank(const world& parallel,
                                                         std::uint64_t batch_size,
                                                         const epoch_start& start,
                                                         bool in_stretches) const {
  const epoch_part part = epoch(parallel, batch_size, start);
  std::vector<std::int64_t> ids(global_batch_size_);
  std::uint64_t of_short_ones = 0;
  std::uint64_t batches = std::min(part.order.filled_batches(), part.batches);
  for (; batches != 0; --batches) {  // from the last one to the last full one
    part.order.ids((batches - 1) * ids.size(), ids);
    const auto count = [](std::span<const std::int64_t> of) {
      return static_cast<std::uint64_t>(
          std::ranges::count_if(of, [](std::int64_t id) { return id >= 0; }));
    };
    const std::uint64_t all = count(ids), ranks = parallel.num_ranks();
    if (all == ids.size()) break;
    of_short_ones += in_stretches
                         ? (parallel.rank + 1) * all / ranks - parallel.rank * all / ranks
                         : count(std::span(ids).subspan(parallel.rank * batch_size, batch_size));
  }
  return batches * batch_size + of_short_ones;
}

MDSTREAM_INLINE void run_order::prepare(const plan_keeper& plans, runtime& threads,
                                        const world& parallel, std::uint64_t batch_size,
                                        const progress& run) const {
  if (single_ && threads.threads() > 1) plans.prepare(threads, *single_, parallel, batch_size, run);
}

MDSTREAM_INLINE resume_point run_order::place_of(const run_state& saved,
                                                 const run_identity& here) const {
  resume_point at = saved.at;
  at.epoch = std::max<std::int64_t>(at.epoch, 0);  // -1: saved before the first batch
  const run_identity& before = *saved.identity;
  const bool same_batches = before.global_batch_size == here.global_batch_size;
  const bool same_epochs = detail::same_epochs(before, here);
  if (same_batches && same_epochs) return at;
  if (has_phases())
    throw error(errc::unsupported,
                "phases begin with a global batch, so a state cannot go on with other batches, "
                "samples or weights under phases: begin a run without them");
  // Batches of streams that no world has begun are the same in all, those of one rank.
  if (deals_streams(single_->options().batching) &&
      (!same_batches || before.batching != here.batching))
    at.initial_physical_nodes = at.initial_ranks_per_node = 1;
  if (at.sample_in_epoch == 0 || (same_epochs && suits_any_batch_size())) return at;
  at.sample_in_epoch = 0;
  if (at.epoch != std::numeric_limits<std::int64_t>::max()) ++at.epoch;
  return at;
}

MDSTREAM_INLINE void run_order::note(const engine_type& first) {
  dataset_ = fingerprint(first.shards());
  first_mix_ = fingerprint(first.mix());
  if (!subset_ || subset_->size() == subset_->whole()) return;
  fnv1a hash;
  hash.add(dataset_);
  for (const std::uint64_t id : *subset_) hash.add(id);
  dataset_ = hash.value();
}

MDSTREAM_INLINE void run_order::refuse_other_weights(std::span<const stream_shards> streams) {
  if (std::ranges::any_of(streams, [](const stream_shards& each) {
        return each.weight.proportion || each.weight.repeat || each.weight.choose;
      }))
    throw error(errc::invalid_argument,
                "the weights of a mix schedule are those of its phases: streams have none");
}

}  // namespace mdstream::inline v0::detail
