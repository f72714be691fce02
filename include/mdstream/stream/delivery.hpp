#pragma once

/// One epoch on one rank, carried out: says when the next batch can be built, and what is done
/// about shards that can not be read.

#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/stream/activity.hpp>
#include <mdstream/stream/copied_samples.hpp>
#include <mdstream/stream/delivery_limits.hpp>
#include <mdstream/stream/fetch_ahead.hpp>
#include <mdstream/stream/lookahead.hpp>
#include <mdstream/stream/recovery.hpp>
#include <mdstream/stream/waiting_call.hpp>

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
/// can not be evicted. Where the limit does not allow even that, the batch's samples are copied out
/// of each shard as it comes, and no shard is held. One consumer at a time calls `wait` or
/// `async_next`, `front`, `shard` and `pop`. Between the announcement of a batch and `pop`, its
/// shards are read without a lock. The destructor cancels what is in flight and waits for its end;
/// it must not run on a pool thread.
template <class Source>
class delivery {
 public:
  using shard_view = decltype(std::declval<Source&>().view(shard_ref(), 0U));

  /// `before_drop` is called on any thread before a shard is dropped, for who else may hold it.
  delivery(Source& source, runtime& threads, lookahead order, std::size_t shards,
           const delivery_limits& limits, std::function<void(std::uint32_t)> before_drop = {})
      : source_(source),
        threads_(threads),
        before_drop_(std::move(before_drop)),
        under_way_(threads),
        ahead_(source, mutex_, under_way_, stop_.get_token(), std::move(order), shards, limits),
        recovery_(limits.substitute) {}
  delivery(const delivery&) = delete;
  delivery& operator=(const delivery&) = delete;
  ~delivery() {
    others_gone_.reset();
    stop_.request_stop();
    std::unique_lock lock(mutex_);
    if (waiting_) conclude(std::exchange(waiting_, nullptr), pending::canceled());
    under_way_.wait_idle(lock);
  }

  /// What the destructor does, without waiting: `ended`, which may destroy this, is called when
  /// there is nothing left to wait for, here or on the pool. The last call of all.
  void async_end(unique_function<void()> ended) {
    others_gone_.reset();
    stop_.request_stop();
    {
      const std::lock_guard lock(mutex_);
      if (waiting_) conclude(std::exchange(waiting_, nullptr), pending::canceled());
      if (!under_way_.is_idle()) return under_way_.when_idle(std::move(ended));
    }
    ended();
  }

  // Before the first batch is asked for, by one thread at a time.

  /// Reads the order of the first batches; with a cache limit as far as eviction will go by it.
  void read_first() {
    const std::lock_guard lock(mutex_);
    ahead_.read_to_horizon();
  }
  /// Asks for their shards, but for those that `needed_before` says others need before: they fetch
  /// those. What is here is held, until `yield`.
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) {
    std::unique_lock lock(mutex_);
    ahead_.look(lock, &needed_before);
  }
  /// Lets go of a shard that was found to be bad elsewhere. Any thread.
  void yield(std::uint32_t shard) {
    std::vector<shard_ref> released;  // goes after the lock
    const std::lock_guard lock(mutex_);
    ahead_.let_go(shard, released);
  }
  /// Goes on with that where it waits for room. Any thread.
  void fetch_on() {
    std::unique_lock lock(mutex_);
    ahead_.go_on(lock);
  }
  /// Announces no batch before a stop of this token is requested: until then others put theirs
  /// together, and hold shards.
  void wait_for(std::stop_token others_gone) {
    if (!others_gone.stop_possible()) return;
    {
      const std::lock_guard lock(mutex_);
      held_back_ = true;
    }
    others_gone_.emplace(std::move(others_gone), release{this});
  }

  /// Waits until the next batch can be built; false at the end of the epoch. Throws what went
  /// wrong with one of its shards; the next call tries again.
  bool wait() {
    std::unique_lock lock(mutex_);
    if (held_back_) stall(lock, [this] { return !held_back_; });
    while (true) {
      ahead_.look(lock);
      if (ahead_.order().empty()) return false;
      gather_front(lock);
      if (missing_ != 0) stall(lock, [this] { return missing_ == 0; });
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
  /// After `pop`: the batch that will be announced next, if its shards are held already. They stay
  /// held until it is announced.
  [[nodiscard]] const upcoming_batch* upcoming() const noexcept {
    if (ahead_.order().empty()) return nullptr;
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      if (!ahead_.holds(batch.needs[i].shard)) return nullptr;
    return &batch;
  }
  /// The samples of the announced batch where they were copied, because its shards can not be held;
  /// null where these are. Until `pop`; may be moved from before.
  [[nodiscard]] copied_samples* copied() noexcept { return copies_ ? &copied_ : nullptr; }
  /// Whether that was so of any batch. Any thread.
  [[nodiscard]] bool has_copied() const noexcept {
    return has_copied_.load(std::memory_order_relaxed);
  }
  /// One of these batches' own shards, where they are held.
  [[nodiscard]] const shard_view& shard(std::uint32_t number) const noexcept {
    return ahead_.shard(number);
  }
  /// References to all shards of the announced batch, to keep its samples beyond `pop`.
  void share_front(std::vector<shard_ref>& out) const {
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs && !copies_; ++i)
      out.push_back(ahead_.ref(batch.needs[i].shard));
  }
  /// Whether nothing is under way that the destructor would wait for.
  [[nodiscard]] bool is_idle() const {
    const std::lock_guard lock(mutex_);
    return under_way_.is_idle();
  }
  /// How much is left to read ahead. Any thread.
  [[nodiscard]] epoch_outlook outlook() const noexcept { return ahead_.outlook(); }
  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return ahead_.order().of_epoch(); }
  /// Time that `wait` has waited for shards.
  [[nodiscard]] std::chrono::nanoseconds stalled() const noexcept { return stalled_; }
  /// Shards in whose place others are read, ascending. Any thread.
  [[nodiscard]] std::vector<std::uint32_t> excluded() const {
    const std::lock_guard lock(mutex_);
    return ahead_.order().excluded().bad();
  }
  /// What became of the shards of the batches so far. Any thread.
  [[nodiscard]] shard_counters counters() const {
    const std::lock_guard lock(mutex_);
    return counters_;
  }

  /// Leaves the first batch behind and fetches on.
  void pop() {
    std::vector<shard_ref> released;  // goes after the lock
    std::unique_lock lock(mutex_);
    gathered_ = copies_ = had_no_room_ = false;
    copied_.clear();
    ahead_.pop(released);
    ahead_.fetch(lock);
  }

  /// When this node needs the shard next, as a number that grows with the distance; `never`
  /// where that is beyond the horizon. Any thread.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const { return next_use(shard, 0); }
  /// The same for the first need at or after a number that this function gave.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const {
    const std::lock_guard lock(mutex_);
    return ahead_.order().next_use(shard, from);
  }

 private:
  /// What `async_next` was given.
  struct next_call {
    unique_function<bool()> build;
    unique_function<void(std::exception_ptr)> done;
  };
  using pending = waiting_call<delivery, next_call>;
  friend pending;

  struct release {
    delivery* held_back;
    void operator()() const { held_back->go_on(); }
  };

  // Members below are called under the lock. Those that take it as an argument give it up in
  // between, because the source may complete at once.

  /// Waits, and counts the time.
  template <class Condition>
  void stall(std::unique_lock<std::mutex>& lock, Condition over) {
    const auto before = std::chrono::steady_clock::now();
    arrived_.wait(lock, over);
    stalled_ += std::chrono::steady_clock::now() - before;
  }

  /// Acquires what the first batch needs and is not held yet.
  void gather_front(std::unique_lock<std::mutex>& lock) {
    if (gathered_) return;
    decide_to_copy(lock);
    gathered_ = true;
    const upcoming_batch& batch = ahead_.front();
    std::vector<std::uint32_t> absent;
    for (std::size_t i = 0; i < batch.own_needs; ++i) {
      const std::uint32_t shard = batch.needs[i].shard;
      if (has(shard)) continue;
      if (std::optional<shard_ref> here = source_.cache().try_acquire(shard))
        take(shard, *std::move(here), lock);
      else
        absent.push_back(shard);
    }
    counters_.missed += absent.size();
    counters_.needed += batch.own_needs;
    missing_ += absent.size();
    under_way_.begin(absent.size());
    if (absent.empty()) return;
    lock.unlock();
    for (const std::uint32_t shard : absent) acquire(shard);
    lock.lock();
  }

  /// Whether the first batch's shards can be held until all of them are there.
  void decide_to_copy(std::unique_lock<std::mutex>& lock) {
    if (copies_ || !source_.cache().limited()) return;
    const upcoming_batch& batch = ahead_.front();
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < batch.own_needs; ++i)
      bytes += source_.cache().footprint(batch.needs[i].shard);
    lock.unlock();
    bool may_hold = false;
    try {
      may_hold = source_.cache().may_hold(bytes) && !had_no_room_;
    } catch (...) {
      lock.lock();
      throw;
    }
    lock.lock();
    if (may_hold) return;
    copies_ = true;
    has_copied_.store(true, std::memory_order_relaxed);
    copied_.begin(batch);
  }

  [[nodiscard]] bool has(std::uint32_t shard) const noexcept {
    return copies_ ? copied_.has(shard) : ahead_.holds(shard);
  }

  /// Holds a shard of the first batch, or copies what that needs of it.
  void take(std::uint32_t shard, shard_ref ref, std::unique_lock<std::mutex>& lock) noexcept {
    if (has(shard)) return;
    try {
      if (!copies_) return ahead_.hold(shard, std::move(ref));
      copied_.copy(ahead_.front(), shard, source_.view(ref, shard));
    } catch (...) {
      recovery_.failed(shard, true, std::current_exception());
    }
    lock.unlock();
    ref = {};
    source_.cache().unpin(shard);
    lock.lock();
  }

  /// Lets go of what is held of the first batch, of which no more can be had: it is copied.
  void release_held(std::unique_lock<std::mutex>& lock) {
    std::vector<shard_ref> released;
    const upcoming_batch& batch = ahead_.front();
    for (std::size_t i = 0; i < batch.own_needs; ++i) ahead_.let_go(batch.needs[i].shard, released);
    lock.unlock();
    released.clear();
    lock.lock();
  }

  /// Without the lock.
  void acquire(std::uint32_t shard) {
    auto call = std::make_unique<shard_request>(shard);
    diagnostics& where = call->where;
    source_.cache().async_acquire(
        shard, stop_.get_token(), where,
        [this, call = std::move(call)](std::error_code failure, shard_ref ref) mutable {
          acquired(*call, failure, std::move(ref));
        });
  }

  /// Without the lock, on any thread.
  void acquired(shard_request& call, std::error_code failure, shard_ref ref) {
    std::unique_lock lock(mutex_);
    if (failure) {
      recovery_.failed(call.shard, false,
                       std::make_exception_ptr(error(failure, std::move(call.where))));
    } else {
      take(call.shard, std::move(ref), lock);
    }
    if (--missing_ == 0) {
      arrived_.notify_all();
      if (waiting_) conclude(std::exchange(waiting_, nullptr), nullptr);
    }
    under_way_.finish_one();
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
    if (why == errc::cache_too_small && !copies_) {
      had_no_room_ = true;
      release_held(lock);
      static_cast<void>(take_failure());
      return true;
    }
    if (!(recovery_.is_content() && drop(shard, lock)) && !substitute(shard, why)) return false;
    static_cast<void>(take_failure());
    return true;
  }

  /// Gives up a shard with bad bytes, so that it is fetched once more; false where it was before,
  /// or where it can not be.
  [[nodiscard]] bool drop(std::uint32_t shard, std::unique_lock<std::mutex>& lock) {
    if (!recovery_.may_fetch_again(shard)) return false;
    std::vector<shard_ref> released;
    ahead_.let_go(shard, released);
    gathered_ = false;
    copied_.clear();
    copied_.begin(ahead_.front());
    lock.unlock();
    released.clear();
    bool gone = false;
    for (int i = 0; i < 2 && !gone; ++i) {  // the next epoch may take it in between, once
      if (before_drop_) before_drop_(shard);
      gone = source_.cache().drop(shard);
    }
    lock.lock();
    if (gone) recovery_.fetched_again(shard);
    return gone;
  }

  /// Lets other shards take the place of one that can not be read.
  [[nodiscard]] bool substitute(std::uint32_t shard, std::error_code why) {
    if (!recovery_.may_substitute(why)) return false;
    gathered_ = copies_ = false;
    copied_.clear();
    return ahead_.exclude(shard);
  }

  /// Sees to it that the waiter's batch is built, or that it hears why not.
  void gather_for(std::shared_ptr<pending> waiter, std::unique_lock<std::mutex>& lock) {
    try {
      if (!held_back_) {
        ahead_.look(lock);
        if (!ahead_.order().empty()) gather_front(lock);
      }
    } catch (...) {
      return conclude(std::move(waiter), std::current_exception());
    }
    if (waiter->stop_requested() || stop_.stop_requested()) {
      conclude(std::move(waiter), pending::canceled());
    } else if (held_back_) {
      waiting_ = std::move(waiter);
    } else if (ahead_.order().empty()) {
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
    under_way_.begin();
    threads_.post([this, waiter = std::move(waiter), failure = std::move(failure)]() mutable {
      try {
        if (!failure && !try_build(waiter)) return;  // it waits once more
      } catch (...) {
        failure = std::current_exception();
      }
      waiter->forget_stop();
      {
        const std::lock_guard lock(mutex_);
        under_way_.finish_one();
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
    under_way_.finish_one();
    return false;
  }

  /// Without the lock; by a stop callback.
  void go_on() {
    std::unique_lock lock(mutex_);
    held_back_ = false;
    arrived_.notify_all();
    if (waiting_) gather_for(std::exchange(waiting_, nullptr), lock);
  }

  /// Without the lock; by a stop callback.
  void cancel(pending* waiter) {
    const std::lock_guard lock(mutex_);
    if (waiting_.get() == waiter) conclude(std::exchange(waiting_, nullptr), pending::canceled());
  }

  Source& source_;
  runtime& threads_;
  std::function<void(std::uint32_t)> before_drop_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::stop_source stop_;
  activity under_way_;
  fetch_ahead<Source> ahead_;
  recovery recovery_;  // of the first batch's shards
  shard_counters counters_;
  std::shared_ptr<pending> waiting_;
  std::size_t missing_ = 0;  // shards of the first batch that are on their way
  std::chrono::nanoseconds stalled_{0};
  copied_samples copied_;     // of the first batch, if `copies_`
  bool copies_ = false;       // its shards can not all be held
  bool had_no_room_ = false;  // they could not, though it was allowed
  std::atomic<bool> has_copied_{false};
  bool gathered_ = false;   // the first batch's shards were asked for
  bool held_back_ = false;  // until `others_gone_` calls
  std::optional<std::stop_callback<release>> others_gone_;
};

}  // namespace mdstream::inline v0
