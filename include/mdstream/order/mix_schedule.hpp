#pragma once

/// A mix of streams that changes during a run: phases with weights of their own.

#include <mdstream/core/fnv.hpp>
#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/order_engine.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/progress.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The order of a run in phases. A phase has its own resampling and shuffle, in epochs of whole
/// global batches, as many as its method makes in every world (what fills none is left out); epochs
/// are counted over all phases, so that no two are alike. The number of a global batch fixes
/// everything: a run goes on from it on any world with the same global batch size. Immutable; any
/// thread may ask.
template <shuffler Shuffler>
class mix_schedule {
 public:
  /// Where a global batch of the run lies.
  struct place {
    std::size_t phase = 0;
    std::uint64_t epoch = 0;  ///< counted over all phases
    std::uint64_t batch_in_epoch = 0;
    std::uint64_t batches_left = 0;  ///< of this epoch or phase, whichever ends first
  };

  /// `streams` without weights of their own. Throws `errc::invalid_argument` where phases do not
  /// begin at 0 or do not ascend, have another number of weights than there are streams, or epochs
  /// that do not fill one global batch.
  mix_schedule(std::span<const stream_shards> streams, const order_options& options,
               std::span<const mix_phase> phases, std::uint64_t global_batch_size,
               Shuffler shuffler = {})
      : global_batch_size_(global_batch_size) {
    if (phases.empty() || phases[0].first_batch != 0)
      detail::refuse("a mix schedule needs a phase that begins at batch 0");
    if (global_batch_size == 0) detail::refuse("a global batch size of 0");
    std::vector<stream_shards> weighted(streams.begin(), streams.end());
    for (const mix_phase& p : phases) add_phase(p, weighted, options, shuffler);
  }

  [[nodiscard]] std::size_t phases() const noexcept { return phases_.size(); }
  [[nodiscard]] const order_engine<Shuffler>& engine(std::size_t phase) const {
    return phases_[phase].engine;
  }
  [[nodiscard]] std::uint64_t global_batch_size() const noexcept { return global_batch_size_; }

  /// Where global batch `batch` of the run lies. O(log phases).
  [[nodiscard]] place at(std::uint64_t batch) const {
    const auto after =
        std::upper_bound(phases_.begin(), phases_.end(), batch,
                         [](std::uint64_t b, const settled& p) { return b < p.first_batch; });
    const settled& p = *(after - 1);
    const std::uint64_t in_phase = batch - p.first_batch;
    place out{.phase = static_cast<std::size_t>(after - phases_.begin()) - 1,
              .epoch = p.first_epoch + in_phase / p.batches,
              .batch_in_epoch = in_phase % p.batches};
    out.batches_left = p.batches - out.batch_in_epoch;
    if (after != phases_.end())
      out.batches_left = std::min(out.batches_left, after->first_batch - batch);
    return out;
  }

  /// Where a global batch of an epoch lies, counted as if every epoch before had been read to its
  /// end. `batches_left` is 0 where the epoch, or its phase, has ended before. O(log phases).
  [[nodiscard]] place in_epoch(std::uint64_t epoch, std::uint64_t batch_in_epoch) const {
    const auto after =
        std::upper_bound(phases_.begin(), phases_.end(), epoch,
                         [](std::uint64_t e, const settled& p) { return e < p.first_epoch; });
    const settled& p = *(after - 1);
    place out{.phase = static_cast<std::size_t>(after - phases_.begin()) - 1,
              .epoch = epoch,
              .batch_in_epoch = batch_in_epoch};
    std::uint64_t end = p.batches;
    if (after != phases_.end() && after->first_epoch == epoch + 1)
      end = after->first_batch - p.first_batch - (epoch - p.first_epoch) * p.batches;
    out.batches_left = end > batch_in_epoch ? end - batch_in_epoch : 0;
    return out;
  }

  /// The rest of the epoch that a place lies in: its first `batches_left` global batches are the
  /// run's next ones. Canonical nodes, seed and block size are those of `run`.
  [[nodiscard]] epoch_order order(const place& where, const world& parallel,
                                  std::uint64_t batch_size, epoch_start run) const {
    if (detail::checked_mul(parallel.num_ranks(), batch_size, "global batch size") !=
        global_batch_size_)
      detail::refuse("a mix schedule for global batches of " + std::to_string(global_batch_size_) +
                     ", but " + std::to_string(parallel.num_ranks()) + " ranks with batches of " +
                     std::to_string(batch_size));
    run.epoch = where.epoch;
    run.sample_in_epoch = where.batch_in_epoch * global_batch_size_;
    return phases_[where.phase].engine.epoch(parallel, batch_size, run);
  }

  /// 64 bits of all that a saved batch number relies on, besides dataset and options.
  [[nodiscard]] std::uint64_t fingerprint() const { return fingerprint(phases_.size() - 1); }
  /// The same for a batch of this phase: later phases may still change.
  [[nodiscard]] std::uint64_t fingerprint(std::size_t phase) const {
    fnv1a hash;
    hash.add(global_batch_size_);
    for (std::size_t i = 0; i <= phase; ++i) {
      hash.add(phases_[i].first_batch);
      for (const std::uint64_t c : phases_[i].engine.mix().choose) hash.add(c);
    }
    return hash.value();
  }

 private:
  struct settled {
    std::uint64_t first_batch;
    std::uint64_t first_epoch;
    std::uint64_t batches;  ///< of an epoch
    order_engine<Shuffler> engine;
  };

  void add_phase(const mix_phase& p, std::vector<stream_shards>& streams, order_options options,
                 const Shuffler& shuffler) {
    const std::string name = "phase " + std::to_string(phases_.size());
    if (p.weights.size() != streams.size())
      detail::refuse(name + " has " + std::to_string(p.weights.size()) + " weights for " +
                     std::to_string(streams.size()) + " streams");
    for (std::size_t k = 0; k < streams.size(); ++k) streams[k].weight = p.weights[k];
    options.epoch_size = p.epoch_size;
    std::uint64_t first_epoch = 0;
    if (!phases_.empty()) {
      const settled& last = phases_.back();
      if (p.first_batch <= last.first_batch)
        detail::refuse(name + " begins at batch " + std::to_string(p.first_batch) +
                       ", not after the one before it");
      first_epoch =
          last.first_epoch + detail::ceil_div(p.first_batch - last.first_batch, last.batches);
    }
    order_engine<Shuffler> engine(streams, options, shuffler);
    const std::uint64_t batches = engine.least_batches(global_batch_size_);
    if (batches == 0)
      detail::refuse(name + " has epochs of " + std::to_string(engine.epoch_size()) +
                     " samples, which do not fill a global batch of " +
                     std::to_string(global_batch_size_) + " with batching \"" +
                     std::string(to_string(options.batching)) + '"');
    phases_.push_back({p.first_batch, first_epoch, batches, std::move(engine)});
  }

  std::uint64_t global_batch_size_;
  std::vector<settled> phases_{};
};

}  // namespace mdstream::inline v0
