#pragma once

/// One epoch on one rank, carried out: fetches the shards of the batches ahead, and says when the
/// next batch can be built.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/schedule/fetch_window.hpp>
#include <mdstream/stream/delivery_limits.hpp>
#include <mdstream/stream/held_shards.hpp>
#include <mdstream/stream/lookahead.hpp>
#include <mdstream/stream/recovery.hpp>
#include <mdstream/stream/waiting_call.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// `Source` has a `cache()` that hands out shards as `shard_cache` does, and `view(ref, number)`,
/// which makes a mapped shard its samples and throws for bytes that are no shard.
///
/// A shard whose bytes are bad is dropped and fetched once more; what is still bad, or can not be
/// had at all, fails its batch, or other shards take its place, as `delivery_limits` say.
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
        held_(shards),
        recovery_(limits.substitute) {}
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  ~delivery() {
    stop_.request_stop();
    std::unique_lock lock(mutex_);
    if (waiting_) conclude(std::exchange(waiting_, nullptr), pending::canceled());
    idle_.wait(lock, [this] { return active_ == 0; });
  }

  /// What the destructor does, without waiting: `ended`, which may destroy this, is called when
  /// there is nothing left to wait for, here or on the pool. The last call of all.
  void async_end(unique_function<void()> ended) {
    stop_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      if (waiting_) conclude(std::exchange(waiting_, nullptr), pending::canceled());
      if (active_ != 0) {
        ended_ = std::move(ended);
        return;
      }
    }
    ended();
  }

  // Before the first batch is asked for, by one thread at a time.

  /// Reads the order of the first batches.
  void read_first() {
    const std::lock_guard lock(mutex_);
    extend();
  }
  /// Asks for their shards, but for those that `needed_before` says others need before: who finds
  /// one of those to be bad could not give it up while it is looked at here. None is held.
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) {
    std::unique_lock lock(mutex_);
    needed_before_ = &needed_before;
    try {
      look_ahead(lock);
    } catch (...) {
      needed_before_ = nullptr;
      throw;
    }
    needed_before_ = nullptr;
  }
  /// Goes on with that where it waits for room. Any thread.
  void fetch_on() {
    std::unique_lock lock(mutex_);
    if (!window_.paused()) return;
    window_.moved();
    fetch(lock);
  }

  /// Waits until the next batch can be built; false at the end of the epoch. Throws what went
  /// wrong with one of its shards; the next call tries again.
  bool wait() {
    std::unique_lock lock(mutex_);
    begun_ = true;
    while (true) {
      look_ahead(lock);
      if (ahead_.empty()) return false;
      gather_front(lock);
      if (missing_ != 0) {
        const auto before = std::chrono::steady_clock::now();
        arrived_.wait(lock, [this] { return missing_ == 0; });
        stalled_ += std::chrono::steady_clock::now() - before;
      }
      if (!recovery_.has_failure()) return true;
      if (!recover_failure(lock)) std::rethrow_exception(take_failure());
    }
  }

  /// As `wait`, without blocking. On a pool thread, `build()` is called when the batch can be
  /// built, again after it returned false, then `done` with nothing or what went wrong: `build`'s
  /// exception, a shard's failure, `errc::end_of_epoch`, or `errc::canceled` where `stop` was
  /// requested before the batch was ready. This object may be gone when `done` is called.
  void async_next(std::stop_token stop, unique_function<bool()> build,
                  unique_function<void(std::exception_ptr)> done) {
    auto waiter = std::make_shared<pending>(next_call{std::move(build), std::move(done)});
    waiter->wait_for_stop(*this, std::move(stop));
    std::unique_lock lock(mutex_);
    begun_ = true;
    gather_for(std::move(waiter), lock);
  }

  /// To be called between the announcement of a batch and `pop`, by who found that samples of one
  /// of its shards are bad. True when the batch has been changed for it, so that it has to be
  /// waited for once more; false when the failure stands.
  bool recover(std::uint32_t shard) {
    std::unique_lock lock(mutex_);
    return drop(shard, lock) || substitute(shard, errc::corrupt);
  }

  /// The batch that was announced.
  [[nodiscard]] const upcoming_batch& front() const noexcept { return ahead_.front(); }
  /// The batch behind it, if its shards are held already.
  [[nodiscard]] const upcoming_batch* second() const noexcept {
    if (ahead_.batches() < 2) return nullptr;
    const upcoming_batch& batch = ahead_[1];
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      if (!held_.holds(batch.needs[i].shard)) return nullptr;
    return &batch;
  }
  /// One of these batches' own shards.
  [[nodiscard]] const shard_view& shard(std::uint32_t number) const noexcept {
    return held_.view(number);
  }
  /// References to all shards of the announced batch, to keep its samples beyond `pop`.
  void share_front(std::vector<shard_ref>& out) const {
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      out.push_back(held_.ref(batch.needs[i].shard));
  }
  /// Whether nothing is under way that the destructor would wait for.
  [[nodiscard]] bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return active_ == 0;
  }
  /// How much is left to read ahead. Any thread.
  [[nodiscard]] epoch_outlook outlook() const noexcept {
    return outlook_.load(std::memory_order_relaxed);
  }
  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return ahead_.of_epoch(); }
  /// Time that `wait` has waited for shards.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return stalled_; }
  /// Shards in whose place others are read, ascending. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> excluded() const {
    const std::lock_guard lock(mutex_);
    return ahead_.excluded().bad();
  }
  /// What became of the shards of the batches so far. Any thread.
  [[nodiscard]] shard_counters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  /// Leaves the first batch behind and fetches on.
  void pop() {
    std::vector<shard_ref> released;  // goes after the lock: the last reference may unmap
    std::unique_lock lock(mutex_);
    const bool hold = !source_.cache().limited();
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs; ++i) {
      const std::uint32_t shard = batch.needs[i].shard;
      if (window_.leave(shard) || !hold) held_.let_go(shard, released);
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
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const { return next_use(shard, 0); }
  /// The same for the first need at or after a number that this function gave.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    const std::lock_guard lock(mutex_);
    return ahead_.next_use(shard, from);
  }

 private:
  /// What `async_next` was given.
  struct next_call {
    unique_function<bool()> build;
    unique_function<void(std::exception_ptr)> done;
  };
  using pending = waiting_call<delivery, next_call>;
  friend pending;

  /// A request to the cache, which writes its diagnostics here.
  struct request {
    std::uint32_t shard;
    diagnostics where{};
  };

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
    const std::uint64_t horizon = source_.cache().limited() ? limits_.horizon : 0;
    for (int i = 0; i < 2 && ahead_.samples_ahead() < horizon; ++i)
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
    if (held_.holds(shard) || (needed_before_ != nullptr && (*needed_before_)(shard)))
      return window_.found(shard);
    if (!begun_) return;
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
    held_.hold(shard, std::move(ref), view);
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
    look_out();
  }

  void look_out() noexcept {
    const bool all = ahead_.unread() == 0 && wanted_batches_ == ahead_.batches();
    outlook_.store(all && window_.all_asked()                 ? epoch_outlook::all_fetched
                   : ahead_.unread() <= ahead_.of_epoch() / 8 ? epoch_outlook::near_end
                                                              : epoch_outlook::far,
                   std::memory_order_relaxed);
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
      if (held_.holds(shard)) continue;
      if (std::optional<shard_ref> here = source_.cache().try_acquire(shard))
        take(shard, *std::move(here));
      else
        absent.push_back(shard);
    }
    counters_.missed += absent.size();
    counters_.needed += batch.own_needs;
    missing_ += absent.size();
    active_ += absent.size();
    if (absent.empty()) return;
    lock.unlock();
    for (const std::uint32_t shard : absent) acquire(shard);
    lock.lock();
  }

  /// Holds a shard of the first batch.
  void take(std::uint32_t shard, shard_ref ref) noexcept {
    try {
      if (!held_.holds(shard)) hold(shard, std::move(ref));
    } catch (...) {
      recovery_.failed(shard, true, std::current_exception());
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
    if (failure) {
      recovery_.failed(call.shard, false,
                       std::make_exception_ptr(error(failure, std::move(call.where))));
    } else {
      take(call.shard, std::move(ref));
    }
    if (--missing_ == 0) {
      arrived_.notify_all();
      if (waiting_) conclude(std::exchange(waiting_, nullptr), nullptr);
    }
    finish_one();
  }

  /// What went wrong with the first batch, once; after that its shards are asked for again.
  [[nodiscard]] std::exception_ptr take_failure() noexcept {
    gathered_ = false;
    return recovery_.take();
  }

  /// Changes the first batch for the failure of one of its shards, where that can be done.
  [[nodiscard]] bool recover_failure(std::unique_lock<std::mutex>& lock) {
    const std::uint32_t shard = recovery_.shard();
    const std::error_code why = recovery_.code();
    if (!(recovery_.is_content() && drop(shard, lock)) && !substitute(shard, why)) return false;
    static_cast<void>(take_failure());
    return true;
  }

  /// Gives up a shard with bad bytes, so that it is fetched once more; false where it was before,
  /// or where it can not be.
  [[nodiscard]] bool drop(std::uint32_t shard, std::unique_lock<std::mutex>& lock) {
    if (!recovery_.may_fetch_again(shard)) return false;
    std::vector<shard_ref> released;
    held_.let_go(shard, released);
    gathered_ = false;
    lock.unlock();
    released.clear();
    const bool gone = source_.cache().drop(shard);
    lock.lock();
    if (gone) recovery_.fetched_again(shard);
    return gone;
  }

  /// Lets other shards take the place of one that can not be read.
  [[nodiscard]] bool substitute(std::uint32_t shard, std::error_code why) {
    if (!recovery_.may_substitute(why)) return false;
    const std::size_t wanted = std::exchange(wanted_batches_, 0);
    wanted_samples_ = 0;
    for (std::size_t i = 0; i < wanted; ++i)
      for (std::size_t k = 0; k < ahead_[i].own_needs; ++k) {
        static_cast<void>(window_.leave(ahead_[i].needs[k].shard));
      }
    gathered_ = false;
    try {
      ahead_.exclude(shard);
    } catch (const error&) {
      return false;  // nothing is left that could take its place: the failure stands
    }
    std::vector<shard_ref> released;
    held_.let_go(shard, released);
    return true;
  }

  /// Sees to it that the waiter's batch is built, or that it hears why not.
  void gather_for(std::shared_ptr<pending> waiter, std::unique_lock<std::mutex>& lock) {
    try {
      look_ahead(lock);
      if (!ahead_.empty()) gather_front(lock);
    } catch (...) {
      return conclude(std::move(waiter), std::current_exception());
    }
    if (waiter->stop_requested() || stop_.stop_requested()) {
      conclude(std::move(waiter), pending::canceled());
    } else if (ahead_.empty()) {
      conclude(std::move(waiter), std::make_exception_ptr(
                                      error(errc::end_of_epoch, "the epoch has no further batch")));
    } else if (missing_ == 0) {
      conclude(std::move(waiter), nullptr);
    } else {
      waiting_ = std::move(waiter);
    }
  }

  /// Builds, where nothing failed, and completes, both on the pool.
  void conclude(std::shared_ptr<pending> waiter, std::exception_ptr failure) {
    ++active_;
    threads_.post([this, waiter = std::move(waiter), failure = std::move(failure)]() mutable {
      try {
        if (!failure && !try_build(waiter)) return;  // it waits once more
      } catch (...) {
        failure = std::current_exception();
      }
      waiter->forget_stop();
      {
        const std::lock_guard lock(mutex_);
        finish_one();
      }
      waiter->call.done(std::move(failure));
    });
  }

  /// Without the lock. False when the batch was changed and the waiter waits for it again.
  [[nodiscard]] bool try_build(const std::shared_ptr<pending>& waiter) {
    std::unique_lock lock(mutex_);
    bool ready = true;
    if (recovery_.has_failure()) {
      ready = false;
      if (!recover_failure(lock)) std::rethrow_exception(take_failure());
    }
    if (ready) {
      lock.unlock();
      ready = waiter->call.build();
      lock.lock();
    }
    if (ready) return true;
    gather_for(waiter, lock);
    finish_one();
    return false;
  }

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter) {
    const std::lock_guard lock(mutex_);
    if (waiting_.get() == waiter) conclude(std::exchange(waiting_, nullptr), pending::canceled());
  }

  // The destructor goes on as soon as the lock is given up.
  void finish_one() {
    if (--active_ != 0) return;
    idle_.notify_all();
    if (ended_) threads_.post(std::exchange(ended_, {}));
  }

  Source& source_;
  runtime& threads_;
  delivery_limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::condition_variable idle_;
  unique_function<void()> ended_;
  std::stop_source stop_;
  lookahead ahead_;
  fetch_window window_;
  held_shards<shard_view> held_;
  recovery recovery_;  // of the first batch's shards
  shard_counters counters_;
  std::shared_ptr<pending> waiting_;
  std::size_t wanted_batches_ = 0;  // batches ahead that asked for their shards
  std::uint64_t wanted_samples_ = 0;
  std::uint64_t most_needed_ = 0;  // bytes of the shards of one batch
  std::uint64_t announced_ = 0;    // what the cache was told of that
  std::size_t missing_ = 0;        // shards of the first batch that are on their way
  std::size_t active_ = 0;         // completions and pool tasks that will still touch this object
  std::chrono::nanoseconds stalled_{0};
  const std::function<bool(std::uint32_t)>* needed_before_ = nullptr;
  std::atomic<epoch_outlook> outlook_{epoch_outlook::far};
  bool begun_ = false;     // a batch was asked for
  bool gathered_ = false;  // the first batch's shards were asked for
  bool fetching_ = false;
};

}  // namespace mdstream::inline v0
