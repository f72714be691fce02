#pragma once

/// What stands behind a loader: its streams, its order, its place in the run, and the epoch at
/// hand.

#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/core/detail/usable_memory.hpp>
#include <mdstream/core/observe.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
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

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// What a run takes of the policies.
struct run_policies {
  corpus_policies corpus;
  detail::erased_shuffler (*shuffler)(const std::string& name);  ///< as `detail::shuffler_of`
  std::unique_ptr<detail::batch_builder> builder;
  std::unique_ptr<detail::watch> observer;  ///< null: nobody is told
  /// Bytes of files that memory holds; asked at each epoch, on any thread.
  std::uint64_t (*memory)() = [] { return usable_memory(); };
};

/// Not thread-safe, as the loader.
class batch_engine {
 public:
  using options = loader_options;
  using batch_pointer = epoch_feed::batch_pointer;

  /// The streams of these options; their warnings are kept for an observer that hears them.
  [[nodiscard]] static dataset_options streams_of(const options& given, bool hears_warnings);

  /// `opened`: see `corpus`.
  batch_engine(const options& given, run_policies policies, opened_streams* opened = nullptr);
  batch_engine(const batch_engine&) = delete;
  batch_engine& operator=(const batch_engine&) = delete;

  /// In a forked child, which has none of the threads: unmaps what nobody there uses.
  void abandon() noexcept { corpus_.abandon(); }

  /// Cancels what is in progress and calls `closed`, which may destroy this, when nothing of any
  /// epoch is under way: here, or on the thread where that ends. To be called once before the
  /// destructor, and last.
  void close(unique_function<void()> closed);

  [[nodiscard]] std::uint64_t epoch_size() const noexcept { return engine().epoch_size(); }
  /// As those of `loader`.
  [[nodiscard]] std::uint64_t batches_per_epoch() const;
  [[nodiscard]] std::uint64_t batches_left() const;
  [[nodiscard]] std::uint64_t rank_epoch_size() const;
  [[nodiscard]] std::uint64_t next_epoch() const;
  [[nodiscard]] sample_origin origin(std::int64_t id) const;
  [[nodiscard]] std::vector<stream_info> streams() const;
  [[nodiscard]] const std::string& cache_directory() const noexcept { return corpus_.cache_root(); }
  [[nodiscard]] std::vector<node_info> nodes() const;
  [[nodiscard]] result_counts results() const noexcept { return handed_out_->made; }
  [[nodiscard]] std::uint64_t estimated_results() const noexcept;
  [[nodiscard]] const replaced_samples& bad_samples() const noexcept { return handed_out_->bad; }
  [[nodiscard]] const sample_layout& layout() const noexcept { return corpus_.layout(); }
  [[nodiscard]] const world& position() const noexcept { return position_; }
  [[nodiscard]] runtime& threads() const noexcept { return corpus_.threads(); }
  /// Whether they end with this.
  [[nodiscard]] bool owns_threads() const noexcept { return corpus_.owns_threads(); }
  [[nodiscard]] cache_counters counters() const noexcept { return corpus_.cache().counters(); }
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept;

  /// Any thread, while this lives.
  [[nodiscard]] std::string waits_for() const;

  /// Begins the next epoch and returns its ticket; an epoch at hand ends.
  std::uint64_t begin_epoch();

  /// The batch that `next` fills, whose memory is used again; another object after each call.
  [[nodiscard]] detail::untyped_batch& batch() noexcept { return *held_; }

  bool next(std::uint64_t ticket);

  /// A call without blocking. Handlers share it, and it outlives the loader.
  class next_call {
   public:
    std::stop_source stop{};

    /// To be called before the handler, on its executor: a batch counts when it is handed out, not
    /// when it is built.
    void complete(const std::exception_ptr& failure, const detail::untyped_batch* got);

   private:
    friend class batch_engine;
    std::shared_ptr<hand_out> count_{};
    bool admitted_ = false;  // it became the outstanding call
    detail::watch::call began_{};
    observe::totals sum_{};
  };

  [[nodiscard]] std::shared_ptr<next_call> begin_async_next() const;

  /// As `next`; `done` is called on the pool, and never before this returns.
  void async_next(std::uint64_t ticket, next_call& call, batch_ring::handler done);

  [[nodiscard]] run_state state() const;

  [[nodiscard]] std::string python_state() const;

  void load_state(const run_state& saved, accept accepted);

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
