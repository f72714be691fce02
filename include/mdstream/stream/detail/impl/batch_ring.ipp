#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/batch_ring.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE batch_ring::batch_ring(batch_source& source, runtime& threads,
                                       work_count& under_way, std::size_t workers,
                                       ring_limits limits, std::function<void()> when_spent)
    : source_(source),
      threads_(threads),
      under_way_(under_way),
      workers_(std::max<std::size_t>(workers, 1)),
      limits_(limits),
      when_spent_(std::move(when_spent)) {}

MDSTREAM_INLINE void batch_ring::stop() {
  stop_.request_stop();
  const std::lock_guard lock(mutex_);
  when_spent_ = {};  // what it tells has been done, or is no longer wanted
  if (waiting_) answer(std::exchange(waiting_, nullptr), pending::canceled(), {});
}

MDSTREAM_INLINE void batch_ring::start() {
  std::unique_lock lock(mutex_);
  pump(lock);
}

MDSTREAM_INLINE bool batch_ring::next(batch_pointer& into) {
  into->clear();  // its memory can serve the batches to come
  std::unique_lock lock(mutex_);
  pump(lock);
  if (!settled()) {
    const auto before = std::chrono::steady_clock::now();
    arrived_.wait(lock, [this] { return settled(); });
    stalled_ += std::chrono::steady_clock::now() - before;
  }
  const std::exception_ptr failure = take_front(into);
  pump(lock);
  lock.unlock();
  if (!failure) return true;
  if (code_of(failure) == errc::end_of_epoch) return false;
  std::rethrow_exception(failure);
}

MDSTREAM_INLINE void batch_ring::async_next(std::stop_token stop, handler done) {
  auto waiter = std::make_shared<pending>(std::move(done));
  waiter->wait_for_stop(std::move(stop), [this, of = waiter.get()] { cancel(of); });
  std::unique_lock lock(mutex_);
  pump(lock);
  if (waiter->stop_requested()) {
    answer(std::move(waiter), pending::canceled(), {});
  } else if (settled()) {
    batch_pointer got;
    std::exception_ptr failure = take_front(got);
    pump(lock);
    answer(std::move(waiter), std::move(failure), std::move(got));  // last: it may end the loader
  } else {
    waiting_ = std::move(waiter);
  }
}

MDSTREAM_INLINE std::chrono::nanoseconds batch_ring::stalled() const {
  const std::lock_guard lock(mutex_);
  return stalled_;
}

MDSTREAM_INLINE std::size_t batch_ring::ready() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size() - unfinished();
}

MDSTREAM_INLINE bool batch_ring::settled() const noexcept {
  if (!jobs_.empty()) return jobs_.front()->at == job::stage::finished;
  return static_cast<bool>(no_more_);
}

MDSTREAM_INLINE std::exception_ptr batch_ring::take_front(batch_pointer& into) {
  if (jobs_.empty()) {
    const std::exception_ptr why = no_more_;
    if (code_of(why) != errc::end_of_epoch) no_more_ = nullptr;  // the next call asks again
    return why;
  }
  job& first = *jobs_.front();
  if (first.failure) return first.failure;
  std::swap(into, first.batch);
  finished_bytes_ -= first.bytes;
  spare_ = std::move(jobs_.front());
  jobs_.pop_front();
  tell_if_spent();
  return nullptr;
}

MDSTREAM_INLINE void batch_ring::tell_if_spent() {
  if (when_spent_ && jobs_.empty() && no_more_ && code_of(no_more_) == errc::end_of_epoch)
    when_spent_();
}

MDSTREAM_INLINE std::size_t batch_ring::unfinished() const noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      jobs_, [](const auto& each) { return each->at != job::stage::finished; }));
}

MDSTREAM_INLINE bool batch_ring::has_room() const noexcept {
  if (jobs_.empty()) return true;
  const std::size_t working = unfinished();
  const bool one_at_a_time = limits_.one_at_a_time || ask_alone_ || !last_bytes_;
  if (jobs_.back()->failure || (one_at_a_time && working != 0)) return false;
  return jobs_.size() < std::max<std::size_t>(limits_.batches, 1) &&
         finished_bytes_ + (working + 1) * last_bytes_.value_or(0) <= limits_.bytes;
}

MDSTREAM_INLINE void batch_ring::pump(std::unique_lock<std::mutex>& lock) {
  if (asks_ != request::none || no_more_ || stop_.stop_requested() || !has_room()) return;
  asks_ = unfinished() == 0 ? request::sent_alone : request::sent;
  under_way_.begin();
  lock.unlock();
  source_.announce(
      stop_.get_token(), [this] { return take(); },
      [this](std::exception_ptr failure) { asked(std::move(failure)); });
  lock.lock();
}

MDSTREAM_INLINE bool batch_ring::take() {
  std::shared_ptr<job> next;
  {
    const std::lock_guard lock(mutex_);
    next = spare_ ? std::exchange(spare_, nullptr) : std::make_shared<job>();
    next->alone = asks_ == request::sent_alone;
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

MDSTREAM_INLINE void batch_ring::asked(std::exception_ptr failure) {
  std::unique_lock lock(mutex_);
  const bool alone = std::exchange(asks_, request::none) == request::sent_alone;
  // A bad or lost shard that batches in the making hold can only be fetched again once they let it
  // go, which they may have done since.
  const std::error_code code = failure ? code_of(failure) : std::error_code();
  ask_alone_ =
      !alone && (code == errc::corrupt || code == errc::io_error || code == errc::out_of_memory);
  if (failure && !ask_alone_) {
    no_more_ = std::move(failure);
    tell_if_spent();
    tell();
  }
  pump(lock);
  lock.unlock();
  under_way_.end();
}

MDSTREAM_INLINE void batch_ring::work(const std::shared_ptr<job>& of, std::size_t worker) {
  if (!stop_.stop_requested()) source_.prepare(*of, worker);
  const bool last = of->workers.fetch_sub(1, std::memory_order_acq_rel) == 1;
  std::unique_lock lock(mutex_);
  if (last) {
    of->failure = of->prepared.failure();
    of->at = job::stage::prepared;
    finish_due(lock);
    pump(lock);
  }
  lock.unlock();
  under_way_.end();
}

MDSTREAM_INLINE void batch_ring::finish_due(std::unique_lock<std::mutex>& lock) {
  if (finishing_) return;  // the thread that finishes looks again
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

MDSTREAM_INLINE std::shared_ptr<batch_ring::job> batch_ring::due() const {
  for (const std::shared_ptr<job>& each : jobs_) {
    if (each->at == job::stage::finished) continue;
    return each->at == job::stage::prepared ? each : nullptr;
  }
  return nullptr;
}

MDSTREAM_INLINE void batch_ring::finish(job& next) noexcept {
  next.bytes = 0;
  // What a stop interrupted is no batch: a caller that still waits for it must not get it.
  if (!next.failure && stop_.stop_requested()) next.failure = pending::canceled();
  if (!next.failure) {
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

MDSTREAM_INLINE void batch_ring::tell() {
  arrived_.notify_all();
  if (!waiting_ || !settled()) return;
  batch_pointer got;
  std::exception_ptr failure = take_front(got);
  answer(std::exchange(waiting_, nullptr), std::move(failure), std::move(got));
}

MDSTREAM_INLINE void batch_ring::answer(std::shared_ptr<pending> waiter, std::exception_ptr failure,
                                        batch_pointer batch) {
  under_way_.begin();
  threads_.post([this, waiter = std::move(waiter), failure = std::move(failure),
                 batch = std::move(batch)]() mutable {
    waiter->forget_stop();
    under_way_.end();
    waiter->done(std::move(failure), std::move(batch));
  });
}

MDSTREAM_INLINE void batch_ring::cancel(pending* waiter) {
  const std::lock_guard lock(mutex_);
  if (waiting_.get() == waiter) answer(std::exchange(waiting_, nullptr), pending::canceled(), {});
}

}  // namespace mdstream::inline v0::detail
