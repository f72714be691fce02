#pragma once

/// One epoch on one rank, carried out: fetches the shards of the batches ahead, and says when the
/// next batch can be built.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/schedule/fetch_window.hpp>
#include <mdstream/stream/lookahead.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// How far a rank looks and fetches ahead.
struct delivery_limits {
  std::uint64_t predownload = 0;  ///< samples ahead whose shards are fetched
  std::uint64_t horizon = 0;      ///< samples ahead whose order eviction knows
  std::size_t requests = 1;       ///< shards that are fetched ahead at the same time
};

/// `Source` has a `cache()` that hands out shards as `shard_cache` does, and `view(ref, number)`,
/// which makes a mapped shard its samples.
///
/// The shards of the first batch are held; with a cache limit no others are, because what is held
/// can not be evicted. One consumer at a time calls `wait` or `async_next`, `front`, `shard` and
/// `pop`. Between the announcement of a batch and `pop`, its shards are read without a lock. The
/// destructor cancels what is in flight and waits for its end; it must not run on a pool thread.
template <class Source>
class delivery {
 public:
  using shard_view = decltype(std::declval<Source&>().view(shard_ref(), 0U));

  delivery(Source& source, runtime& threads, lookahead ahead, std::size_t shards,
           delivery_limits limits)
      : source_(source),
        threads_(threads),
        limits_(limits),
        ahead_(std::move(ahead)),
        window_(shards, limits.requests),
        place_(shards, not_held) {}
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  ~delivery() {
    stop_.request_stop();
    std::unique_lock lock(mutex_);
    if (waiting_) conclude(std::exchange(waiting_, nullptr), canceled());
    idle_.wait(lock, [this] { return active_ == 0; });
  }

  /// Waits until the next batch can be built; false at the end of the epoch. Throws what went
  /// wrong with one of its shards; the next call tries again.
  bool wait() {
    std::unique_lock lock(mutex_);
    look_ahead(lock);
    if (ahead_.empty()) return false;
    gather_front(lock);
    if (missing_ != 0) {
      const auto before = std::chrono::steady_clock::now();
      arrived_.wait(lock, [this] { return missing_ == 0; });
      stalled_ += std::chrono::steady_clock::now() - before;
    }
    if (const std::exception_ptr failure = take_failure()) std::rethrow_exception(failure);
    return true;
  }

  /// As `wait`, without blocking. On a pool thread, `build()` is called when the batch can be
  /// built, then `done` with nothing or what went wrong: `build`'s exception, a shard's failure,
  /// `errc::end_of_epoch`, or `errc::canceled` where `stop` was requested before the batch was
  /// ready. This object may be gone when `done` is called.
  void async_next(std::stop_token stop, unique_function<void()> build,
                  unique_function<void(std::exception_ptr)> done) {
    auto waiter = std::make_shared<pending>(std::move(build), std::move(done));
    waiter->on_stop.emplace(stop, canceler{this, waiter.get()});
    std::unique_lock lock(mutex_);
    try {
      look_ahead(lock);
      if (!ahead_.empty()) gather_front(lock);
    } catch (...) {
      return conclude(std::move(waiter), std::current_exception());
    }
    if (stop.stop_requested()) {
      conclude(std::move(waiter), canceled());
    } else if (ahead_.empty()) {
      conclude(std::move(waiter), failure_of(errc::end_of_epoch, "the epoch has no further batch"));
    } else if (missing_ == 0) {
      conclude(std::move(waiter), take_failure());
    } else {
      waiting_ = std::move(waiter);
    }
  }

  /// The batch that was announced.
  [[nodiscard]] const upcoming_batch& front() const noexcept { return ahead_.front(); }
  /// The batch behind it, if its shards are held already.
  [[nodiscard]] const upcoming_batch* second() const noexcept {
    if (ahead_.batches() < 2) return nullptr;
    const upcoming_batch& batch = ahead_[1];
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      if (!holds(batch.needs[i].shard)) return nullptr;
    return &batch;
  }
  /// One of these batches' own shards.
  [[nodiscard]] const shard_view& shard(std::uint32_t number) const noexcept {
    return held_[place_[number]].view;
  }
  /// Time that `wait` has waited for shards.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return stalled_; }

  /// Leaves the first batch behind and fetches on.
  void pop() {
    std::vector<shard_ref> released;  // goes after the lock: the last reference may unmap
    std::unique_lock lock(mutex_);
    const bool hold = !source_.cache().limited();
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs; ++i) {
      const std::uint32_t shard = batch.needs[i].shard;
      if (window_.leave(shard) || !hold) let_go(shard, released);
    }
    wanted_samples_ -= batch.ids.size();
    --wanted_batches_;
    gathered_ = false;
    ahead_.pop_front();
    window_.moved();
    fetch(lock);
    lock.unlock();
    released.clear();
  }

  /// When this node needs the shard next, as a number that grows with the distance; `never`
  /// where that is beyond the horizon. Any thread.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const {
    const std::lock_guard lock(mutex_);
    return ahead_.next_use(shard);
  }

 private:
  struct pending;
  struct canceler {
    delivery* self;
    pending* waiter;
    void operator()() const { self->cancel(waiter); }
  };
  struct pending {
    pending(unique_function<void()> on_ready, unique_function<void(std::exception_ptr)> on_done)
        : build(std::move(on_ready)), done(std::move(on_done)) {}
    unique_function<void()> build;
    unique_function<void(std::exception_ptr)> done;
    std::optional<std::stop_callback<canceler>> on_stop;
  };
  struct held_shard {
    shard_ref ref;
    shard_view view;
  };
  static constexpr std::uint32_t not_held = std::numeric_limits<std::uint32_t>::max();

  /// A request to the cache, which writes its diagnostics here.
  struct request {
    std::uint32_t shard;
    diagnostics where{};
  };

  [[nodiscard]] static std::exception_ptr failure_of(errc code, const char* what) {
    return std::make_exception_ptr(error(code, what));
  }
  [[nodiscard]] static std::exception_ptr canceled() {
    return failure_of(errc::canceled, "the call was canceled before its batch was ready");
  }

  [[nodiscard]] bool holds(std::uint32_t shard) const noexcept { return place_[shard] != not_held; }

  // Members below are called under the lock. Those that take it as an argument give it up in
  // between, because the source may complete at once.

  void look_ahead(std::unique_lock<std::mutex>& lock) {
    extend();
    while (!ahead_.empty() && ahead_.front().ids.empty()) {
      // Padding alone: the last global batches do not reach every rank.
      if (wanted_batches_ != 0) --wanted_batches_;
      ahead_.pop_front();
      extend();
    }
    // Beyond what is fetched the order is only read for eviction: a little at a time, so that no
    // batch waits for it.
    for (int i = 0; i < 2 && ahead_.samples_ahead() < limits_.horizon; ++i)
      if (!ahead_.extend()) break;
    want_ahead();
    if (most_needed_ > announced_) announce_need(lock);
    fetch(lock);
  }

  void extend() {
    while (ahead_.samples_ahead() < limits_.predownload || ahead_.empty())
      if (!ahead_.extend()) return;
  }

  void want_ahead() {
    while (wanted_batches_ < ahead_.batches()) {
      const upcoming_batch& batch = ahead_[wanted_batches_];
      if (wanted_batches_ != 0 && wanted_samples_ + batch.ids.size() > limits_.predownload) return;
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < batch.own_needs; ++i) {
        want(batch.needs[i].shard);
        if (source_.cache().limited()) bytes += source_.cache().footprint(batch.needs[i].shard);
      }
      most_needed_ = std::max(most_needed_, bytes);
      wanted_samples_ += batch.ids.size();
      ++wanted_batches_;
    }
  }

  void want(std::uint32_t shard) {
    if (!window_.want(shard)) return;
    if (holds(shard)) return window_.found(shard);
    if (std::optional<shard_ref> here = source_.cache().try_acquire(shard)) {
      window_.found(shard);
      if (source_.cache().limited()) return;
      try {
        hold(shard, *std::move(here));
      } catch (...) {
        // It is no shard: the batch that needs it will say so.
      }
    }
  }

  /// Throws where the shard is no shard.
  void hold(std::uint32_t shard, shard_ref ref) {
    const shard_view view = source_.view(ref, shard);
    if (free_.empty()) {
      place_[shard] = static_cast<std::uint32_t>(held_.size());
      held_.push_back({std::move(ref), view});
    } else {
      place_[shard] = free_.back();
      free_.pop_back();
      held_[place_[shard]] = {std::move(ref), view};
    }
  }

  void let_go(std::uint32_t shard, std::vector<shard_ref>& released) {
    const std::uint32_t place = std::exchange(place_[shard], not_held);
    if (place == not_held) return;
    released.push_back(std::move(held_[place].ref));
    free_.push_back(place);
  }

  /// Tells the cache what the largest batch so far holds at one time.
  void announce_need(std::unique_lock<std::mutex>& lock) {
    const std::uint64_t bytes = most_needed_;
    lock.unlock();
    try {
      source_.cache().require(bytes);
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
    announced_ = bytes;
  }

  void fetch(std::unique_lock<std::mutex>& lock) {
    if (fetching_ || stop_.stop_requested()) return;  // who fetches looks again before it ends
    fetching_ = true;
    while (const std::optional<std::uint32_t> shard = window_.next()) {
      ++active_;
      lock.unlock();
      auto call = std::make_unique<request>(*shard);
      diagnostics& where = call->where;
      source_.cache().async_prefetch(*shard, stop_.get_token(), where,
                                     [this, call = std::move(call)](std::error_code failure) {
                                       prefetched(call->shard, failure);
                                     });
      lock.lock();
    }
    fetching_ = false;
  }

  /// Without the lock, on any thread. What failed, other than for room, is tried again and
  /// reported when a batch needs it.
  void prefetched(std::uint32_t shard, std::error_code failure) {
    std::unique_lock lock(mutex_);
    if (failure == errc::cache_too_small)
      window_.no_room(shard);
    else
      window_.fetched(shard);
    fetch(lock);
    finish_one();
  }

  /// Acquires what the first batch needs and is not held yet.
  void gather_front(std::unique_lock<std::mutex>& lock) {
    if (gathered_) return;
    gathered_ = true;
    const upcoming_batch& batch = ahead_.front();
    std::vector<std::uint32_t> absent;
    for (std::size_t i = 0; i < batch.own_needs; ++i) {
      const std::uint32_t shard = batch.needs[i].shard;
      if (holds(shard)) continue;
      if (std::optional<shard_ref> here = source_.cache().try_acquire(shard))
        take(shard, *std::move(here));
      else
        absent.push_back(shard);
    }
    missing_ += absent.size();
    active_ += absent.size();
    lock.unlock();
    for (const std::uint32_t shard : absent) acquire(shard);
    lock.lock();
  }

  /// Holds a shard of the first batch.
  void take(std::uint32_t shard, shard_ref ref) noexcept {
    try {
      if (!holds(shard)) hold(shard, std::move(ref));
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  /// Without the lock.
  void acquire(std::uint32_t shard) {
    auto call = std::make_unique<request>(shard);
    diagnostics& where = call->where;
    source_.cache().async_acquire(
        shard, stop_.get_token(), where,
        [this, call = std::move(call)](std::error_code failure, shard_ref ref) mutable {
          acquired(*call, failure, std::move(ref));
        });
  }

  /// Without the lock, on any thread.
  void acquired(request& call, std::error_code failure, shard_ref ref) {
    const std::lock_guard lock(mutex_);
    if (failure)
      failure_ = std::make_exception_ptr(error(failure, std::move(call.where)));
    else
      take(call.shard, std::move(ref));
    if (--missing_ == 0) {
      arrived_.notify_all();
      if (waiting_) conclude(std::exchange(waiting_, nullptr), take_failure());
    }
    finish_one();
  }

  /// What went wrong with the first batch, once; after that its shards are asked for again.
  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    if (failure_) gathered_ = false;
    return std::exchange(failure_, nullptr);
  }

  /// Builds, where nothing failed, and completes, both on the pool.
  void conclude(std::shared_ptr<pending> waiter, std::exception_ptr failure) {
    ++active_;
    threads_.post([this, waiter = std::move(waiter), failure = std::move(failure)]() mutable {
      waiter->on_stop.reset();
      if (!failure) {
        try {
          waiter->build();
        } catch (...) {
          failure = std::current_exception();
        }
      }
      {
        const std::lock_guard lock(mutex_);
        finish_one();
      }
      waiter->done(std::move(failure));
    });
  }

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter) {
    const std::lock_guard lock(mutex_);
    if (waiting_.get() == waiter) conclude(std::exchange(waiting_, nullptr), canceled());
  }

  // The destructor goes on as soon as the lock is given up.
  void finish_one() {
    if (--active_ == 0) idle_.notify_all();
  }

  Source& source_;
  runtime& threads_;
  delivery_limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable idle_;
  std::stop_source stop_;
  lookahead ahead_;
  fetch_window window_;
  std::vector<std::uint32_t> place_;  // of each shard in `held_`
  std::vector<held_shard> held_;
  std::vector<std::uint32_t> free_;  // places in `held_`
  std::exception_ptr failure_;       // of the first batch
  std::shared_ptr<pending> waiting_;
  std::size_t wanted_batches_ = 0;  // batches ahead that asked for their shards
  std::uint64_t wanted_samples_ = 0;
  std::uint64_t most_needed_ = 0;  // bytes of the shards of one batch
  std::uint64_t announced_ = 0;    // what the cache was told of that
  std::size_t missing_ = 0;        // shards of the first batch that are on their way
  std::size_t active_ = 0;         // completions and pool tasks that will still touch this object
  std::chrono::nanoseconds stalled_{0};
  bool gathered_ = false;  // the first batch's shards were asked for
  bool fetching_ = false;
};

}  // namespace mdstream::inline v0
