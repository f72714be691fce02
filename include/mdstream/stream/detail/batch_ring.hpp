#pragma once

/// Batches ahead of the loop: prepared and put together on the pool, handed out in order.

#include <mdstream/async/detail/waiting_call.hpp>
#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/stream/detail/batch_builder.hpp>
#include <mdstream/stream/detail/batch_reader.hpp>
#include <mdstream/stream/detail/copied_samples.hpp>
#include <mdstream/stream/detail/prepared_samples.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A batch on its way: its samples are mapped, then prepared, then put together.
struct batch_job {
  upcoming_batch from{};
  std::vector<shard_ref> shards{};    ///< hold the samples until the batch is put together
  copied_samples copied{};            ///< holds them where the shards are not held
  bool alone = false;                 ///< no other batch holds its shards
  std::vector<bytes_view> samples{};  ///< of `from.ids`, as they lie in their shards; null: nowhere
  prepared_samples prepared{};
  std::atomic<std::size_t> workers{0};  ///< that have not returned
  std::uint64_t bytes = 0;              ///< of the finished batch
  std::unique_ptr<detail::untyped_batch> batch{};
  std::exception_ptr failure{};  ///< instead of the batch
  enum class stage : std::uint8_t { preparing, prepared, finished } at = stage::preparing;
};

/// How far batches are put together ahead.
struct ring_limits {
  std::uint64_t bytes = 0;     ///< of finished batches; the next one is made in any case
  std::size_t batches = 0;     ///< at most, because the stager has no more buffers; at least 1
  bool one_at_a_time = false;  ///< shards are held for one unfinished batch only
};

/// Gives and makes the batches of a ring; all of it is called on the pool.
class batch_source {
 public:
  virtual ~batch_source() = default;
  /// Calls `take` when the next batch can be taken, again after it returned false, then `done`, as
  /// `delivery::async_next` does.
  virtual void announce(std::stop_token stop, unique_function<bool()> take,
                        unique_function<void(std::exception_ptr)> done) = 0;
  /// Fills `from`, `shards` and `samples` and leaves the batch behind. False where it has to be
  /// announced once more.
  virtual bool take(batch_job& into) = 0;
  /// Work of one worker.
  virtual void prepare(batch_job& of, std::size_t worker) const = 0;
  /// Puts the batch together and returns its bytes. One at a time, in order.
  virtual std::uint64_t finish(batch_job& of) = 0;
};

/// One consumer at a time. The destructor waits for nothing: before it nothing may be under way.
class batch_ring {
 public:
  using job = batch_job;
  using batch_pointer = std::unique_ptr<detail::untyped_batch>;
  using handler = unique_function<void(std::exception_ptr, batch_pointer)>;

  /// What is on its way to this is counted in `under_way`. `when_spent` is called, under a lock,
  /// when the last batch of the epoch has been taken.
  batch_ring(batch_source& source, runtime& threads, work_count& under_way, std::size_t workers,
             ring_limits limits, std::function<void()> when_spent = {});
  batch_ring(const batch_ring&) = delete;
  batch_ring& operator=(const batch_ring&) = delete;

  /// Cancels what is under way. The last call of all.
  void stop();

  /// Begins to put batches together before the first one is asked for.
  void start();

  /// Waits for the next batch; false at the end of the epoch. Throws what went wrong with it, again
  /// at every call where it is the transform or the data; what was wrong with a store is tried
  /// again.
  bool next(batch_pointer& into);

  /// The same without blocking; `done` is called on the pool. `errc::canceled` where `stop` was
  /// requested before the batch was there. This object may be gone when `done` is called.
  void async_next(std::stop_token stop, handler done);

  /// Time that `next` has waited.
  [[nodiscard]] std::chrono::nanoseconds stalled() const;
  /// Finished batches that wait to be taken.
  [[nodiscard]] std::size_t ready() const;

 private:
  /// The source is asked for one batch at a time: while others are in the making, or alone.
  enum class request : std::uint8_t { none, sent, sent_alone };

  struct pending : waiting_call {
    explicit pending(handler last) : done(std::move(last)) {}
    handler done;
  };

  // Members below are called under the lock. Those that take it as an argument give it up in
  // between.

  /// Whether the consumer need not wait: the first batch is finished, or none will come.
  [[nodiscard]] bool settled() const noexcept;

  /// Exchanges the first batch for `into`, or returns why there is none.
  [[nodiscard]] std::exception_ptr take_front(batch_pointer& into);

  void tell_if_spent();

  /// Batches that still hold their shards.
  [[nodiscard]] std::size_t unfinished() const noexcept;

  /// Room for one batch more, taken to be as large as the last one; until one is finished, nobody
  /// knows what a second would take.
  [[nodiscard]] bool has_room() const noexcept;

  /// Asks for one batch more where there is room.
  void pump(std::unique_lock<std::mutex>& lock);

  /// Without the lock, on the pool, when the next batch can be taken.
  bool take();

  /// Without the lock, on the pool, when `take` has returned or nothing can be taken.
  void asked(std::exception_ptr failure);

  /// Without the lock: one worker's part of a batch. The last one finishes what is due.
  void work(const std::shared_ptr<job>& of, std::size_t worker);

  /// Puts together every batch that is prepared and has none unfinished before it.
  void finish_due(std::unique_lock<std::mutex>& lock);

  [[nodiscard]] std::shared_ptr<job> due() const;

  /// Without the lock.
  void finish(job& next) noexcept;

  /// Something has settled.
  void tell();

  /// Completes a call, on the pool.
  void answer(std::shared_ptr<pending> waiter, std::exception_ptr failure, batch_pointer batch);

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter);

  batch_source& source_;
  runtime& threads_;
  work_count& under_way_;
  std::size_t workers_;
  ring_limits limits_;
  std::function<void()> when_spent_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::stop_source stop_;
  std::deque<std::shared_ptr<job>> jobs_;  // in order
  std::shared_ptr<job> spare_;             // its memory is used again
  std::shared_ptr<pending> waiting_;
  std::exception_ptr no_more_;        // the end of the epoch, or why no batch could be taken
  std::uint64_t finished_bytes_ = 0;  // of finished batches in `jobs_`
  std::optional<std::uint64_t> last_bytes_{};  // of the batch that was finished last
  std::chrono::nanoseconds stalled_{0};
  request asks_ = request::none;
  bool ask_alone_ = false;  // the next batch is asked for when no other is in the making
  bool finishing_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/batch_ring.ipp>
#endif
