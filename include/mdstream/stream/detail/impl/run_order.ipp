#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/order/detail/fingerprint.hpp>
#include <mdstream/stream/detail/renumbered.hpp>
#include <mdstream/stream/detail/run_order.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE run_order::run_order(std::span<const stream_shards> streams,
                                     const order_options& options, std::vector<mix_phase> phases,
                                     std::uint64_t global_batch_size,
                                     detail::erased_shuffler shuffler,
                                     std::optional<sample_subset> subset)
    : global_batch_size_(global_batch_size), subset_(std::move(subset)) {
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
    return {with_ids(std::move(order)), std::numeric_limits<std::uint64_t>::max()};
  }
  const auto place = schedule_->in_epoch(start.epoch, start.sample_in_epoch / global_batch_size_);
  return {with_ids(schedule_->order(place, parallel, batch_size, start)), place.batches_left};
}

MDSTREAM_INLINE epoch_order run_order::with_ids(epoch_order order) const {
  if (!subset_) return order;
  const std::uint64_t global_batch = order.global_batch_size();
  const batch_deal deal = order.deal();
  return {renumbered(std::move(order), *subset_), global_batch, deal};
}

MDSTREAM_INLINE bool run_order::is_finished(const resume_point& at) const {
  if (!single_) return false;
  const std::uint64_t samples = single_->epoch_size();
  if (reads_once()) return at.sample_in_epoch >= samples;
  if (single_->options().batching != batching_method::random) return false;
  return at.sample_in_epoch >= positions_of_all(samples, at.num_canonical_nodes) &&
         at.sample_in_epoch <= samples + at.num_canonical_nodes + 4 * global_batch_size_;
}

MDSTREAM_INLINE void run_order::check(const world& parallel, std::uint64_t batch_size,
                                      progress run) const {
  epoch_start start = run.begin_epoch(parallel);
  if (start.finished || schedule_) start.sample_in_epoch = 0;
  start.finished = false;
  const std::size_t phases = single_ ? 1 : schedule_->phases();
  for (std::size_t i = phase_of(start.epoch); i < phases; ++i)
    static_cast<void>(engine(i).batches(parallel, batch_size, start));
}

MDSTREAM_INLINE std::uint64_t run_order::batches(const world& parallel, std::uint64_t batch_size,
                                                 const epoch_start& start) const {
  if (single_) return single_->batches(parallel, batch_size, start);
  return schedule_->in_epoch(start.epoch, start.sample_in_epoch / global_batch_size_).batches_left;
}

MDSTREAM_INLINE void run_order::prepare(const plan_keeper& plans, runtime& threads,
                                        const world& parallel, std::uint64_t batch_size,
                                        const progress& run) const {
  if (single_ && threads.threads() > 1) plans.prepare(threads, *single_, parallel, batch_size, run);
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
