#pragma once

/// Batches ahead of the loop: prepared and put together on the pool, handed out in order.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/stream/activity.hpp>
#include <mdstream/stream/copied_samples.hpp>
#include <mdstream/stream/lookahead.hpp>
#include <mdstream/stream/preparation.hpp>
#include <mdstream/stream/waiting_call.hpp>

#include <algorithm>
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

namespace mdstream::inline v0 {

/// A batch on its way: its samples are mapped, then prepared, then put together.
template <class Batch>
struct batch_job {
  upcoming_batch from{};
  std::vector<shard_ref> shards{};    ///< hold the samples until the batch is put together
  copied_samples copied{};            ///< holds them where the shards are not held
  std::vector<bytes_view> samples{};  ///< of `from.ids`, as they lie in their shards
  prepared_samples prepared{};
  std::atomic<std::size_t> workers{0};  ///< that have not returned
  std::uint64_t bytes = 0;              ///< of the finished batch
  Batch batch{};
  std::exception_ptr failure{};  ///< instead of the batch
  enum class stage : std::uint8_t { preparing, prepared, finished } at = stage::preparing;
};

/// How far batches are put together ahead.
struct ring_limits {
  std::uint64_t bytes = 0;     ///< of finished batches; the next one is made in any case
  std::size_t batches = 0;     ///< at most, because the stager has no more buffers; at least 1
  bool one_at_a_time = false;  ///< shards are held for one unfinished batch only
};

/// `Source` gives and makes batches; all of it is called on the pool:
/// - `announce(stop, take, done)`: calls `take()` when the next batch can be taken, again after it
///   returned false, then `done`, as `delivery::async_next` does.
/// - `take(job)`: fills `from`, `shards` and `samples` and leaves the batch behind; false where it
///   has to be announced once more.
/// - `prepare(job, worker)`: work of one worker.
/// - `finish(job)`: puts the batch together, returns its bytes. One at a time, in order.
///
/// One consumer at a time. The destructor cancels, and waits for work on the pool that has begun;
/// it must not run on a pool thread.
template <class Source, class Batch>
class batch_ring {
 public:
  using job = batch_job<Batch>;
  using handler = unique_function<void(std::exception_ptr, Batch)>;

  /// `when_spent` is called, under a lock, when the last batch of the epoch has been taken.
  batch_ring(Source& source, runtime& threads, std::size_t workers, ring_limits limits,
             std::function<void()> when_spent = {})
      : source_(source),
        threads_(threads),
        under_way_(threads),
        workers_(std::max<std::size_t>(workers, 1)),
        limits_(limits),
        when_spent_(std::move(when_spent)) {}
  batch_ring(const batch_ring&) = delete;
  batch_ring& operator=(const batch_ring&) = delete;
  ~batch_ring() {
    stop_.request_stop();
    std::unique_lock lock(mutex_);
    if (waiting_) answer(std::exchange(waiting_, nullptr), pending::canceled(), {});
    under_way_.wait_idle(lock);
  }

  /// As `delivery::async_end`.
  void async_end(unique_function<void()> ended) {
    stop_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      when_spent_ = {};  // what it tells has been done, or is no longer wanted
      if (waiting_) answer(std::exchange(waiting_, nullptr), pending::canceled(), {});
      if (!under_way_.is_idle()) return under_way_.when_idle(std::move(ended));
    }
    ended();
  }

  /// Begins to put batches together before the first one is asked for.
  void start() {
    std::unique_lock lock(mutex_);
    pump(lock);
  }

  /// Waits for the next batch; false at the end of the epoch. Throws what went wrong with it, again
  /// at every call where it is the transform or the data; what was wrong with a store is tried
  /// again.
  bool next(Batch& into) {
    into = {};  // its memory can serve the batches to come
    std::unique_lock lock(mutex_);
    pump(lock);
    if (!settled()) {
      const auto before = std::chrono::steady_clock::now();
      arrived_.wait(lock, [this] { return settled(); });
      stalled_ += std::chrono::steady_clock::now() - before;
    }
    result got = take_front();
    pump(lock);
    lock.unlock();
    if (!got.failure) {
      into = std::move(got.batch);
      return true;
    }
    if (code_of(got.failure) == errc::end_of_epoch) return false;
    std::rethrow_exception(got.failure);
  }

  /// The same without blocking; `done` is called on the pool. `errc::canceled` where `stop` was
  /// requested before the batch was there. This object may be gone when `done` is called.
  void async_next(std::stop_token stop, handler done) {
    auto waiter = std::make_shared<pending>(std::move(done));
    waiter->wait_for_stop(*this, std::move(stop));
    std::unique_lock lock(mutex_);
    pump(lock);
    if (waiter->stop_requested()) {
      answer(std::move(waiter), pending::canceled(), {});
    } else if (settled()) {
      result got = take_front();
      answer(std::move(waiter), std::move(got.failure), std::move(got.batch));
      pump(lock);
    } else {
      waiting_ = std::move(waiter);
    }
  }

  /// Whether nothing is under way that the destructor would wait for.
  [[nodiscard]] bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return under_way_.is_idle();
  }
  /// Time that `next` has waited.
  [[nodiscard]] std::chrono::nanoseconds stalled() const {
    const std::lock_guard lock(mutex_);
    return stalled_;
  }
  /// Finished batches that wait to be taken.
  [[nodiscard]] std::size_t ready() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::ranges::count_if(
        jobs_, [](const auto& each) { return each->at == job::stage::finished; }));
  }

 private:
  using pending = waiting_call<batch_ring, handler>;
  friend pending;

  struct result {
    std::exception_ptr failure;
    Batch batch;
  };

  // Members below are called under the lock. Those that take it as an argument give it up in
  // between.

  /// Whether the consumer need not wait: the first batch is finished, or none will come.
  [[nodiscard]] bool settled() const noexcept {
    if (!jobs_.empty()) return jobs_.front()->at == job::stage::finished;
    return static_cast<bool>(no_more_);
  }

  [[nodiscard]] result take_front() {
    if (jobs_.empty()) {
      const std::exception_ptr why = no_more_;
      if (code_of(why) != errc::end_of_epoch) no_more_ = nullptr;  // the next call asks again
      return {why, {}};
    }
    job& first = *jobs_.front();
    if (first.failure) return {first.failure, {}};
    result out{nullptr, std::move(first.batch)};
    finished_bytes_ -= first.bytes;
    spare_ = std::move(jobs_.front());
    jobs_.pop_front();
    tell_if_spent();
    return out;
  }

  void tell_if_spent() {
    if (when_spent_ && jobs_.empty() && no_more_ && code_of(no_more_) == errc::end_of_epoch)
      when_spent_();
  }

  /// Batches that still hold their shards.
  [[nodiscard]] std::size_t unfinished() const noexcept {
    return static_cast<std::size_t>(std::ranges::count_if(
        jobs_, [](const auto& each) { return each->at != job::stage::finished; }));
  }

  /// Room for one batch more, taken to be as large as the last one; until one is finished, nobody
  /// knows what a second would take.
  [[nodiscard]] bool has_room() const noexcept {
    if (jobs_.empty()) return true;
    const std::size_t working = unfinished();
    const bool one_at_a_time = limits_.one_at_a_time || ask_alone_ || !last_bytes_;
    if (jobs_.back()->failure || (one_at_a_time && working != 0)) return false;
    return jobs_.size() < std::max<std::size_t>(limits_.batches, 1) &&
           finished_bytes_ + (working + 1) * last_bytes_.value_or(0) <= limits_.bytes;
  }

  /// Asks for one batch more where there is room.
  void pump(std::unique_lock<std::mutex>& lock) {
    if (asking_ || no_more_ || stop_.stop_requested() || !has_room()) return;
    asking_ = true;
    asked_alone_ = unfinished() == 0;
    under_way_.begin();
    lock.unlock();
    source_.announce(
        stop_.get_token(), [this] { return take(); },
        [this](std::exception_ptr failure) { asked(std::move(failure)); });
    lock.lock();
  }

  /// Without the lock, on the pool, when the next batch can be taken.
  bool take() {
    std::shared_ptr<job> next;
    {
      const std::lock_guard lock(mutex_);
      next = spare_ ? std::exchange(spare_, nullptr) : std::make_shared<job>();
    }
    next->at = job::stage::preparing;
    next->failure = nullptr;
    if (!source_.take(*next)) return false;
    const std::size_t workers = std::clamp<std::size_t>(next->samples.size(), 1, workers_);
    next->prepared.begin(next->samples.size(), workers);
    next->workers = workers;
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(next);
      under_way_.begin(workers);
    }
    for (std::size_t worker = 0; worker < workers; ++worker)
      threads_.post([this, next, worker] { work(next, worker); });
    return true;
  }

  /// Without the lock, on the pool, when `take` has returned or nothing can be taken.
  void asked(std::exception_ptr failure) {
    std::unique_lock lock(mutex_);
    asking_ = false;
    // A bad shard that batches in the making hold can only be fetched again once they let it go,
    // which they may have done since.
    ask_alone_ = failure && !asked_alone_ && code_of(failure) == errc::corrupt;
    if (failure && !ask_alone_) {
      no_more_ = std::move(failure);
      tell_if_spent();
      tell();
    }
    pump(lock);
    under_way_.finish_one();
  }

  /// Without the lock: one worker's part of a batch. The last one finishes what is due.
  void work(const std::shared_ptr<job>& of, std::size_t worker) {
    if (!stop_.stop_requested()) source_.prepare(*of, worker);
    const bool last = of->workers.fetch_sub(1, std::memory_order_acq_rel) == 1;
    std::unique_lock lock(mutex_);
    if (last) {
      of->failure = of->prepared.failure();
      of->at = job::stage::prepared;
      finish_due(lock);
      pump(lock);
    }
    under_way_.finish_one();
  }

  /// Puts together every batch that is prepared and has none unfinished before it.
  void finish_due(std::unique_lock<std::mutex>& lock) {
    if (finishing_) return;  // who finishes looks again before it ends
    finishing_ = true;
    while (const std::shared_ptr<job> next = due()) {
      lock.unlock();
      finish(*next);
      lock.lock();
      next->at = job::stage::finished;
      finished_bytes_ += next->bytes;
      if (!next->failure) last_bytes_ = next->bytes;
      tell();
    }
    finishing_ = false;
  }

  [[nodiscard]] std::shared_ptr<job> due() const {
    for (const std::shared_ptr<job>& each : jobs_) {
      if (each->at == job::stage::finished) continue;
      return each->at == job::stage::prepared ? each : nullptr;
    }
    return nullptr;
  }

  /// Without the lock.
  void finish(job& next) noexcept {
    next.bytes = 0;
    if (!next.failure && !stop_.stop_requested()) {
      try {
        next.bytes = source_.finish(next);
      } catch (...) {
        next.failure = std::current_exception();
      }
    }
    next.samples.clear();
    next.shards.clear();
    next.copied.clear();
  }

  /// Something has settled.
  void tell() {
    arrived_.notify_all();
    if (!waiting_ || !settled()) return;
    result got = take_front();
    answer(std::exchange(waiting_, nullptr), std::move(got.failure), std::move(got.batch));
  }

  /// Completes a call, on the pool.
  void answer(std::shared_ptr<pending> waiter, std::exception_ptr failure, Batch batch) {
    under_way_.begin();
    threads_.post([this, waiter = std::move(waiter), failure = std::move(failure),
                   batch = std::move(batch)]() mutable {
      waiter->forget_stop();
      {
        const std::lock_guard lock(mutex_);
        under_way_.finish_one();
      }
      waiter->call(std::move(failure), std::move(batch));
    });
  }

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter) {
    const std::lock_guard lock(mutex_);
    if (waiting_.get() == waiter) answer(std::exchange(waiting_, nullptr), pending::canceled(), {});
  }

  Source& source_;
  runtime& threads_;
  activity under_way_;
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
  bool asking_ = false;
  bool ask_alone_ = false;    // the next batch is asked for when no other is in the making
  bool asked_alone_ = false;  // none was in the making when the last one was asked for
  bool finishing_ = false;
};

}  // namespace mdstream::inline v0
