#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/delivery.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE delivery::delivery(detail::shard_supply& supply, runtime& threads,
                                   work_count& under_way, lookahead order,
                                   const delivery_limits& limits,
                                   std::function<void(std::uint32_t)> before_drop)
    : supply_(supply),
      threads_(threads),
      before_drop_(std::move(before_drop)),
      under_way_(under_way),
      ahead_(supply, mutex_, under_way_, stop_.get_token(), std::move(order), limits),
      recovery_(limits.substitute) {}

MDSTREAM_INLINE void delivery::stop() {
  others_gone_.reset();
  stop_.request_stop();
  const std::lock_guard lock(mutex_);
  if (waiting_) conclude(std::exchange(waiting_, nullptr), pending::canceled());
}

MDSTREAM_INLINE void delivery::read_first() {
  const std::lock_guard lock(mutex_);
  ahead_.read_to_horizon();
}

MDSTREAM_INLINE void delivery::fetch_first(
    const std::function<bool(std::uint32_t)>& needed_before) {
  std::unique_lock lock(mutex_);
  ahead_.look(lock, &needed_before);
}

MDSTREAM_INLINE void delivery::yield(std::uint32_t shard) {
  std::vector<shard_ref> released;  // goes after the lock
  const std::lock_guard lock(mutex_);
  ahead_.let_go(shard, released);
}

MDSTREAM_INLINE void delivery::fetch_on() {
  std::unique_lock lock(mutex_);
  ahead_.go_on(lock);
}

MDSTREAM_INLINE void delivery::wait_for(std::stop_token others_gone) {
  if (!others_gone.stop_possible()) return;
  {
    const std::lock_guard lock(mutex_);
    held_back_ = true;
  }
  others_gone_.emplace(std::move(others_gone), [this] { go_on(); });
}

MDSTREAM_INLINE bool delivery::wait() {
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

MDSTREAM_INLINE void delivery::async_next(std::stop_token stop, unique_function<bool()> build,
                                          unique_function<void(std::exception_ptr)> done) {
  auto waiter = std::make_shared<pending>(std::move(build), std::move(done));
  waiter->wait_for_stop(std::move(stop), [this, of = waiter.get()] { cancel(of); });
  std::unique_lock lock(mutex_);
  gather_for(std::move(waiter), lock);
}

MDSTREAM_INLINE bool delivery::recover(std::uint32_t shard, bool alone) {
  std::unique_lock lock(mutex_);
  return drop(shard, lock) || (alone && substitute(shard, errc::corrupt));
}

MDSTREAM_INLINE const upcoming_batch* delivery::upcoming(std::size_t after) const noexcept {
  if (ahead_.order().batches() <= after) return nullptr;
  const upcoming_batch& batch = ahead_.order()[after];
  for (std::size_t i = 0; i < batch.own_needs; ++i)
    if (!ahead_.holds(batch.needs[i].shard)) return nullptr;
  return &batch;
}

MDSTREAM_INLINE void delivery::share_front(std::vector<shard_ref>& out) const {
  const upcoming_batch& batch = ahead_.front();
  for (std::size_t i = 0; i < batch.own_needs && !copies(); ++i)
    out.push_back(ahead_.ref(batch.needs[i].shard));
}

MDSTREAM_INLINE std::vector<std::uint32_t> delivery::excluded() const {
  const std::lock_guard lock(mutex_);
  return ahead_.order().excluded().bad();
}

MDSTREAM_INLINE shard_counters delivery::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

MDSTREAM_INLINE std::optional<delivery::awaited> delivery::waits_for() const {
  const std::lock_guard lock(mutex_);
  if (!gathered_ || ahead_.order().empty()) return std::nullopt;
  const upcoming_batch& batch = ahead_.front();
  awaited out{.number = batch.number, .needs = batch.own_needs};
  for (std::size_t i = 0; i < batch.own_needs && missing_ != 0; ++i)
    if (!has(batch.needs[i].shard)) out.missing.push_back(batch.needs[i].shard);
  return out;
}

MDSTREAM_INLINE void delivery::pop() {
  std::vector<shard_ref> released;  // goes after the lock
  std::unique_lock lock(mutex_);
  gathered_ = false;
  keeping_ = keeping::shards;
  copied_.clear();
  ahead_.pop(released);
  ahead_.fetch(lock);
}

MDSTREAM_INLINE std::uint64_t delivery::next_use(std::uint32_t shard, std::uint64_t from) const {
  const std::lock_guard lock(mutex_);
  return ahead_.order().next_use(shard, from);
}

MDSTREAM_INLINE void delivery::gather_front(std::unique_lock<std::mutex>& lock) {
  if (gathered_) return;
  decide_to_copy(lock);
  gathered_ = true;
  const upcoming_batch& batch = ahead_.front();
  std::vector<std::uint32_t> absent;
  for (std::size_t i = 0; i < batch.own_needs; ++i) {
    const std::uint32_t shard = batch.needs[i].shard;
    if (has(shard)) continue;
    if (std::optional<shard_ref> here = supply_.try_acquire(shard))
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

MDSTREAM_INLINE void delivery::decide_to_copy(std::unique_lock<std::mutex>& lock) {
  if (copies() || !supply_.limited()) return;
  const upcoming_batch& batch = ahead_.front();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < batch.own_needs; ++i)
    bytes += supply_.footprint(batch.needs[i].shard);
  lock.unlock();
  bool may_hold = false;
  try {
    may_hold = supply_.may_hold(bytes) && keeping_ == keeping::shards;
  } catch (...) {
    lock.lock();
    throw;
  }
  lock.lock();
  if (may_hold) return;
  keeping_ = keeping::samples;
  has_copied_.store(true, std::memory_order_relaxed);
  copied_.begin(batch);
}

MDSTREAM_INLINE void delivery::take(std::uint32_t shard, shard_ref ref,
                                    std::unique_lock<std::mutex>& lock) noexcept {
  if (has(shard)) return;
  try {
    if (!copies()) return ahead_.hold(shard, std::move(ref));
    copied_.copy(ahead_.front(), shard, supply_.view(ref, shard));
  } catch (...) {
    recovery_.failed(shard, true, std::current_exception());
  }
  lock.unlock();
  ref = {};
  supply_.unpin(shard);
  lock.lock();
}

MDSTREAM_INLINE void delivery::release_held(std::unique_lock<std::mutex>& lock) {
  std::vector<shard_ref> released;
  const upcoming_batch& batch = ahead_.front();
  for (std::size_t i = 0; i < batch.own_needs; ++i) ahead_.let_go(batch.needs[i].shard, released);
  lock.unlock();
  released.clear();
  lock.lock();
}

MDSTREAM_INLINE void delivery::acquire(std::uint32_t shard) {
  try {
    auto call = std::make_unique<shard_request>(shard);
    diagnostics& where = call->where;
    supply_.async_acquire(
        shard, stop_.get_token(), where,
        [this, call = std::move(call)](std::error_code failure, shard_ref ref) mutable {
          acquired(*call, failure, std::move(ref));
        });
  } catch (const std::bad_alloc&) {
    shard_request none(shard);
    acquired(none, errc::out_of_memory, {});
  }
}

MDSTREAM_INLINE void delivery::acquired(shard_request& call, std::error_code failure,
                                        shard_ref ref) {
  std::unique_lock lock(mutex_);
  if (failure) {
    recovery_.failed(call.shard, false, exception_of(failure, std::move(call.where)));
  } else {
    take(call.shard, std::move(ref), lock);
  }
  if (--missing_ == 0) {
    arrived_.notify_all();
    if (waiting_ && !held_back_) conclude(std::exchange(waiting_, nullptr), nullptr);
  }
  lock.unlock();
  under_way_.end();
}

MDSTREAM_INLINE std::exception_ptr delivery::take_failure() noexcept {
  gathered_ = false;
  return recovery_.take();
}

MDSTREAM_INLINE bool delivery::recover_failure(std::unique_lock<std::mutex>& lock) {
  const std::uint32_t shard = recovery_.shard();
  const std::error_code why = recovery_.code();
  if (why == errc::cache_too_small && !copies()) {
    keeping_ = keeping::samples_next;
    release_held(lock);
    static_cast<void>(take_failure());
    return true;
  }
  if (!(recovery_.is_content() && drop(shard, lock)) && !substitute(shard, why)) return false;
  static_cast<void>(take_failure());
  return true;
}

MDSTREAM_INLINE bool delivery::drop(std::uint32_t shard, std::unique_lock<std::mutex>& lock) {
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
    gone = supply_.drop(shard);
  }
  lock.lock();
  if (gone) recovery_.fetched_again(shard);
  return gone;
}

MDSTREAM_INLINE bool delivery::substitute(std::uint32_t shard, std::error_code why) {
  if (!recovery_.may_substitute(why)) return false;
  gathered_ = false;
  if (copies()) keeping_ = keeping::samples_next;
  copied_.clear();
  return ahead_.exclude(shard);
}

MDSTREAM_INLINE void delivery::gather_for(std::shared_ptr<pending> waiter,
                                          std::unique_lock<std::mutex>& lock) {
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
    conclude(std::move(waiter), exception_of(errc::end_of_epoch, "the epoch has no further batch"));
  } else if (missing_ == 0) {
    conclude(std::move(waiter), nullptr);
  } else {
    waiting_ = std::move(waiter);
  }
}

MDSTREAM_INLINE void delivery::conclude(std::shared_ptr<pending> waiter,
                                        std::exception_ptr failure) {
  under_way_.begin();
  threads_.post([this, waiter = std::move(waiter), failure = std::move(failure)]() mutable {
    try {
      if (!failure && !try_build(waiter)) return;  // it waits once more
    } catch (...) {
      failure = std::current_exception();
    }
    waiter->forget_stop();
    under_way_.end();
    waiter->done(std::move(failure));
  });
}

MDSTREAM_INLINE bool delivery::try_build(const std::shared_ptr<pending>& waiter) {
  std::unique_lock lock(mutex_);
  bool ready = true;
  if (recovery_.has_failure()) {
    ready = false;
    if (!recover_failure(lock)) std::rethrow_exception(take_failure());
  }
  if (ready) {
    lock.unlock();
    ready = waiter->build();
    lock.lock();
  }
  if (ready) return true;
  gather_for(waiter, lock);
  lock.unlock();
  under_way_.end();
  return false;
}

MDSTREAM_INLINE void delivery::go_on() {
  std::unique_lock lock(mutex_);
  held_back_ = false;
  arrived_.notify_all();
  if (waiting_) gather_for(std::exchange(waiting_, nullptr), lock);
}

MDSTREAM_INLINE void delivery::cancel(pending* waiter) {
  const std::lock_guard lock(mutex_);
  if (waiting_.get() == waiter) conclude(std::exchange(waiting_, nullptr), pending::canceled());
}

}  // namespace mdstream::inline v0::detail
