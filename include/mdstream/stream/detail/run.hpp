#pragma once

/// What stands behind a loader: its streams, its order, its place in the run, and the epoch at
/// hand.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/observe.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/batch_engine.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/disk_watch.hpp>
#include <mdstream/stream/detail/epoch_controller.hpp>
#include <mdstream/stream/detail/epoch_feed.hpp>
#include <mdstream/stream/detail/hand_out.hpp>
#include <mdstream/stream/detail/plan_keeper.hpp>
#include <mdstream/stream/detail/run_order.hpp>
#include <mdstream/stream/detail/watch.hpp>
#include <mdstream/stream/options.hpp>
#include <mdstream/stream/state.hpp>
#include <mdstream/stream/stream_info.hpp>
#include <mdstream/version.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// One run, on this rank.
class run_engine final : public batch_engine {
 public:
  run_engine(const loader_options& given, run_policies policies, opened_streams* opened);

  void abandon() noexcept override { corpus_.abandon(); }
  MDSTREAM_INLINE void close(unique_function<void()> closed) override;
  [[nodiscard]] std::uint64_t epoch_size() const noexcept override { return engine().epoch_size(); }
  [[nodiscard]] MDSTREAM_INLINE std::uint64_t batches_per_epoch() const override;
  [[nodiscard]] MDSTREAM_INLINE std::uint64_t batches_left() const override;
  [[nodiscard]] MDSTREAM_INLINE std::uint64_t rank_epoch_size() const override;
  [[nodiscard]] MDSTREAM_INLINE std::uint64_t next_epoch() const override;
  [[nodiscard]] MDSTREAM_INLINE sample_origin origin(std::int64_t id) const override;
  [[nodiscard]] MDSTREAM_INLINE std::vector<stream_info> streams() const override;
  [[nodiscard]] const std::string& cache_directory() const noexcept override {
    return corpus_.cache_root();
  }
  [[nodiscard]] MDSTREAM_INLINE std::vector<node_info> nodes() const override;
  [[nodiscard]] result_counts results() const noexcept override { return handed_out_->made; }
  [[nodiscard]] MDSTREAM_INLINE std::uint64_t estimated_results() const noexcept override;
  [[nodiscard]] const replaced_samples& bad_samples() const noexcept override {
    return handed_out_->bad;
  }
  [[nodiscard]] const sample_layout& layout() const noexcept override { return corpus_.layout(); }
  [[nodiscard]] const world& position() const noexcept override { return position_; }
  [[nodiscard]] cache_counters counters() const noexcept override {
    return corpus_.cache().counters();
  }
  [[nodiscard]] MDSTREAM_INLINE std::chrono::nanoseconds stalled() const noexcept override;
  [[nodiscard]] MDSTREAM_INLINE run_state state() const override;
  [[nodiscard]] MDSTREAM_INLINE std::string python_state() const override;
  MDSTREAM_INLINE void load_state(const run_state& saved, accept accepted) override;
  [[nodiscard]] MDSTREAM_INLINE std::string waits_for() const override;
  [[nodiscard]] runtime& threads() const noexcept override { return corpus_.threads(); }
  [[nodiscard]] bool owns_threads() const noexcept override { return corpus_.owns_threads(); }
  MDSTREAM_INLINE std::uint64_t begin_epoch() override;
  [[nodiscard]] untyped_batch& batch() noexcept override { return *held_; }
  MDSTREAM_INLINE bool next(std::uint64_t ticket) override;
  [[nodiscard]] MDSTREAM_INLINE std::shared_ptr<next_call> begin_async_next() const override;
  MDSTREAM_INLINE void async_next(std::uint64_t ticket, next_call& call,
                                  batch_ring::handler done) override;

 private:
  static void require_same(std::string_view field, std::uint64_t saved, std::uint64_t here);

  [[nodiscard]] std::uint64_t global_batch_size() const noexcept {
    return batch_size_ * position_.num_ranks();
  }

  [[nodiscard]] feed_limits limits() const noexcept;

  /// Samples of this rank in which about so many new shards turn up, within what it costs to know
  /// them: so far ahead no request lacks a shard to fetch.
  [[nodiscard]] std::uint64_t samples_of(std::uint64_t shards) const noexcept;

  /// Where the order is read ahead: a single worker is left to fetches, which batches wait for.
  [[nodiscard]] read_ahead::executor elsewhere() const;

  /// The order of the phase at hand.
  [[nodiscard]] const run_order::engine_type& engine() const noexcept;

  /// The shards that are known to be bad.
  [[nodiscard]] substitutions excluded() const;

  /// Warns of what makes the first epoch worse than it has to be: once, on one rank for all.
  void warn_of_order(const epoch_start& first) const;

  /// Any thread: only reads what does not change, but for `disk_`.
  [[nodiscard]] std::unique_ptr<epoch_feed> make_feed(const epoch_start& start,
                                                      const substitutions& bad);

  /// Gets the next epoch ready while this one is read to its end: its order when this one nears it,
  /// its first shards when those of this one have all been asked for, so that the fetching goes on.
  void look_beyond();

  /// Puts the next epoch in the place of the one at hand, which is returned.
  [[nodiscard]] std::unique_ptr<epoch_feed> exchange_feed(std::unique_ptr<epoch_feed> next);

  /// Says once that a batch did not fit beneath the cache limit, and what limit suits any batch.
  void warn_of_limit();

  /// Destroys the epoch before, if it is time. What it holds may be in the way of a cache limit.
  /// Without one, a batch of the current epoch is handed out first: the step into an epoch is to
  /// take no longer than others.
  void clear_away();

  void begin_next();

  /// Any thread.
  [[nodiscard]] std::uint64_t next_use(const epoch_feed& now, std::uint32_t shard,
                                       std::uint64_t from) const;

  /// Takes over what there is to tell of the epoch at hand, which ends. `bad`: what the next one
  /// was made with; a shard that was found to be bad after that is read there, and found again.
  void count_epoch(substitutions bad);

  void require_idle() const;

  [[nodiscard]] detail::watch::call begin_call() const;

  [[nodiscard]] observe::totals totals() const;

  void require_current(std::uint64_t ticket) const;

  [[nodiscard]] run_identity identity(const resume_point& at) const;

  /// The whole of the epoch at hand, or of the next one if none is or a state was loaded.
  [[nodiscard]] epoch_start whole_epoch() const;

  detail::maker made_;
  world position_;
  std::uint64_t ranks_here_;  // of this node, distinct or not
  std::uint64_t batch_size_;
  std::uint64_t predownload_;
  std::uint64_t canonical_nodes_;  // as the user set them; 0: not
  std::shared_ptr<hand_out> handed_out_;
  corpus corpus_;
  std::uint64_t (*memory_)();
  disk_watch disk_;
  run_order order_;
  plan_keeper plans_;
  progress progress_;
  substitutions bad_;  // what epochs before the one at hand found
  bool substitute_;
  bool substitute_samples_;
  std::optional<std::uint64_t> given_predownload_;  // none: it keeps itself busy
  std::unique_ptr<detail::batch_builder> builder_;
  std::uint64_t prefetch_limit_;
  const std::shared_ptr<epoch_controller> epochs_;  // the others
  mutable std::mutex feed_changes_;                 // for `waits_for`
  std::unique_ptr<epoch_feed> feed_;                // the epoch at hand
  batch_pointer held_;                              // the batch that is handed out next
  bool has_left_ = false;                           // an epoch that is to be cleared away
  bool warned_of_limit_ = false;
  std::uint64_t ticket_ = 0;
  std::chrono::nanoseconds stalled_before_{0};  // in epochs before the one at hand
  shard_counters shards_before_{};              // likewise
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/run.ipp>
#endif
