#pragma once

/// The batches of one epoch on one rank: built by the thread that asks, or ahead on the pool.

#include <mdstream/cache/detail/page_requests.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/batch_ring.hpp>
#include <mdstream/stream/detail/corpus.hpp>
#include <mdstream/stream/detail/delivery.hpp>
#include <mdstream/stream/detail/disk_watch.hpp>
#include <mdstream/stream/detail/epoch_controller.hpp>
#include <mdstream/version.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// How far an epoch is fetched, and put together, ahead.
struct feed_limits {
  delivery_limits delivery{};
  std::uint64_t prefetch_limit = 0;  ///< bytes of prefetched batches
  bool substitute_samples = false;   ///< other samples are read in place of bad ones
  disk_watch* disk = nullptr;        ///< null where memory holds the shards
};

/// Batches are asked for one at a time. The destructor waits for nothing: `async_end` comes before
/// it, unless the epoch is idle.
class epoch_feed final : public epoch_steps, private batch_source {
 public:
  using batch_pointer = std::unique_ptr<detail::untyped_batch>;

  /// `from` and `builder` have to outlive this. `first_number` is that of the first global batch of
  /// `ahead`. `when_spent`: as that of `batch_ring`; `before_drop`: as that of `delivery`.
  epoch_feed(corpus& from, detail::batch_builder& builder, lookahead ahead, epoch_seed seed,
             std::uint64_t first_number, const feed_limits& limits,
             std::function<void()> when_spent = {},
             std::function<void(std::uint32_t)> before_drop = {});
  MDSTREAM_INLINE void async_end(unique_function<void()> ended) override;

  // Before the first batch is asked for; on any thread, one at a time.

  /// As those of `delivery`.
  void read_first() override { delivery_.read_first(); }
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) override {
    delivery_.fetch_first(needed_before);
  }
  void fetch_on() override { delivery_.fetch_on(); }
  void yield(std::uint32_t shard) override { delivery_.yield(shard); }
  /// As that of `delivery`: the builder serves one epoch at a time.
  void wait_for(std::stop_token others_gone) { delivery_.wait_for(std::move(others_gone)); }
  /// Begins to put batches together where that is done ahead. The epoch before has to be spent.
  void build_first() override {
    if (ring_) ring_->start();
  }

  /// As `loader::epoch_type::next`; `into` is a batch whose memory is used again.
  bool next(batch_pointer& into);

  /// As `next`, without blocking; `done` is called on the pool. This object may be gone then.
  void async_next(std::stop_token stop, batch_ring::handler done);

  [[nodiscard]] std::chrono::nanoseconds stalled() const {
    return ring_ ? ring_->stalled() : delivery_.stalled();
  }
  /// Finished batches that wait to be taken.
  [[nodiscard]] std::size_t ready() const { return ring_ ? ring_->ready() : 0; }
  /// Whether nothing is under way.
  [[nodiscard]] bool is_idle() const override { return under_way_.is_idle(); }
  /// What the next batch waits for, in words. Any thread.
  [[nodiscard]] std::string waits_for() const;
  [[nodiscard]] epoch_outlook outlook() const noexcept { return delivery_.outlook(); }
  [[nodiscard]] std::uint64_t batches() const noexcept { return delivery_.batches(); }
  [[nodiscard]] shard_counters counters() const { return delivery_.counters(); }
  [[nodiscard]] std::vector<std::uint32_t> excluded() const { return delivery_.excluded(); }
  [[nodiscard]] bool has_copied() const noexcept { return delivery_.has_copied(); }
  /// As `delivery::next_use`. Any thread.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const override {
    return delivery_.next_use(shard, from);
  }

 private:
  /// Whether samples are changed on their way.
  [[nodiscard]] bool prepares() const noexcept {
    return builder_.about.transforms || corpus_.converts() || substitute_samples_;
  }

  // One batch, by the thread that asks for it.

  /// Builds the batch that was announced and leaves it behind. False where it has to be waited for
  /// once more.
  bool build(detail::untyped_batch& into);

  /// Fills a batch with what `found_` says: a row for each of its samples. Returns its bytes.
  std::uint64_t assemble(const upcoming_batch& from, detail::untyped_batch& into);
  /// The same for rows that need not be one for each sample.
  std::uint64_t assemble(const upcoming_batch& from, const batch_rows& rows,
                         detail::untyped_batch& into);

  /// Begins to read the samples of the announced batch from the disk, and those of the next one if
  /// its shards are held, where that is worth it.
  void read_soon();
  /// The same of one batch, once.
  void read_soon(const upcoming_batch& batch);
  /// Sets `soon_` to the samples of a batch. False where their place in a shard is bad, or they are
  /// more than memory can be expected to keep.
  [[nodiscard]] bool find_soon(const upcoming_batch& batch);
  /// What counts the pages that the batch reads; null: nothing does.
  [[nodiscard]] disk_watch* watch_of(const upcoming_batch& batch) const noexcept {
    return disk_ != nullptr && disk_watch::counts(batch.number) ? disk_ : nullptr;
  }

  /// Looks up where the samples of a batch lie. Samples of a shuffled batch lie anywhere: all are
  /// asked for before the first is copied, so that their cache misses overlap.
  void find(const upcoming_batch& batch);

  /// Asks for the samples of the next batch, so that they are near when its turn comes; where they
  /// vary in size, for what says where they lie.
  void look_beyond();

  [[nodiscard]] bytes_view mapped(sample_location at) const {
    return delivery_.shard(at.shard)[at.index];
  }

  /// Changes the batch for the exception at hand, so that it has to be waited for once more; where
  /// that cannot be done, throws it again, with the place that it is about. `alone`: as
  /// `delivery::recover`.
  void recover(const upcoming_batch& from, bool alone);

  /// The shard of the first sample whose place in its shard is bad, or whose bytes are lost.
  [[nodiscard]] std::optional<std::uint32_t> shard_of_bad_sample(const upcoming_batch& from);

  // The source of the ring; on the pool.

  MDSTREAM_INLINE void announce(std::stop_token stop, unique_function<bool()> take,
                                unique_function<void(std::exception_ptr)> done) override;

  /// Takes the announced batch over. False where it has to be announced once more.
  MDSTREAM_INLINE bool take(batch_job& into) override;

  /// Fills the samples of a batch. Throws `bad_sample` for one that `find_checked` refuses, unless
  /// its shard was given up: then it is met again where samples are prepared.
  void find_mapped(const upcoming_batch& from, std::vector<bytes_view>& into);
  /// Sets `sample` to sample `i` of a batch and checks its place in the shard and its size header.
  /// Throws `errc::corrupt`; if it is about the place, `sample` stays as it was.
  void find_checked(const upcoming_batch& from, std::size_t i, bytes_view& sample);

  MDSTREAM_INLINE void prepare(batch_job& of, std::size_t worker) const override;

  MDSTREAM_INLINE std::uint64_t finish(batch_job& of) override;

  /// Another sample is in the place of sample `i` of a batch.
  void note_replaced(batch_job& of, std::size_t i, sample_location by);

  /// Puts the rows of a batch together whose results vary, and returns its bytes, or those of its
  /// samples if they are more: also batches of which little is left fill the ring.
  std::uint64_t finish_results(batch_job& of);

  /// What was made of sample `i` of a batch cannot be collated.
  [[noreturn]] void throw_misfit(const batch_job& of, const collate::detail::bad_sample& bad,
                                 std::size_t i) const;

  corpus& corpus_;
  detail::batch_builder& builder_;
  epoch_seed seed_;
  std::uint64_t first_number_;
  bool substitute_samples_;
  mutable std::atomic<bool> warned_of_sample_{false};
  disk_watch* disk_;
  page_requests pages_;
  std::vector<bytes_view> soon_{};            // samples to be read from the disk
  std::uint64_t read_soon_until_ = 0;         // batches before this number were asked for
  std::vector<std::uint32_t> given_up_{};     // shards with samples that are bad for good
  std::vector<collate::sample_bytes> found_;  // where the samples of a batch lie
  std::optional<std::uint64_t> found_of_{};   // the number of that batch, if it was not built yet
  std::vector<std::int64_t> row_ids_;         // where results vary, as `batch_rows` has them
  std::vector<std::uint64_t> made_of_;        // likewise
  work_count under_way_;
  delivery delivery_;
  std::optional<batch_ring> ring_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/epoch_feed.ipp>
#endif
