#pragma once

#include <mdstream/store/detail/call_gate.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <iterator>

namespace mdstream::inline v0::detail {

struct call_gate::waiter : waiting_call {
  waiter(call s, std::shared_ptr<const call_place> p) : start(std::move(s)), place(std::move(p)) {}
  [[nodiscard]] std::uint64_t ticket() const noexcept { return place ? place->ticket : 0; }
  [[nodiscard]] bool is_needed_now() const noexcept {
    return place && place->now.load(std::memory_order_relaxed);
  }

  call start;
  const std::shared_ptr<const call_place> place;
  bool waits = true;
  waiters::iterator at{};
};

MDSTREAM_INLINE void call_gate::cancel(const std::shared_ptr<waiter>& one) {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(one->waits, false)) return;
    forget(one->at, *one);
  }
  one->start(std::nullopt);
}

MDSTREAM_INLINE void call_gate::begin(std::stop_token stop, call start,
                                      std::shared_ptr<const call_place> place) {
  const auto one = std::make_shared<waiter>(std::move(start), std::move(place));
  {
    std::unique_lock lock(mutex_);
    auto behind = waiting_.end();
    while (behind != waiting_.begin() && one->ticket() < (*std::prev(behind))->ticket()) --behind;
    one->at = waiting_.insert(behind, one);
    if (one->place) ++placed_;
    start_waiting(lock);
    if (!one->waits) return;
  }
  // Outside the lock: with a stop that came meanwhile it runs at once.
  waiting_call::wait_for_stop(std::move(stop), weak_from_this(), one);
}

MDSTREAM_INLINE void call_gate::end(ticket begun, const std::error_code& failure) {
  std::unique_lock lock(mutex_);
  --in_flight_;
  bears_.ended(begun, failure);
  start_waiting(lock);
}

MDSTREAM_INLINE void call_gate::came(std::uint64_t bytes) {
  came_.fetch_add(bytes, std::memory_order_relaxed);
  const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
  if (now - looked_.load(std::memory_order_relaxed) < std::chrono::milliseconds(100)) return;
  std::unique_lock lock(mutex_);
  looked_.store(now, std::memory_order_relaxed);
  if (carries_) {
    const bool bound = !waiting_.empty() && carries_->most() <= bears_.most();
    carries_->came(came_.exchange(0, std::memory_order_relaxed), now, bound);
  }
  start_waiting(lock);
}

MDSTREAM_INLINE std::size_t call_gate::in_flight() const {
  const std::lock_guard lock(mutex_);
  return in_flight_;
}

MDSTREAM_INLINE std::size_t call_gate::most() const {
  const std::lock_guard lock(mutex_);
  return most_now();
}

MDSTREAM_INLINE std::size_t call_gate::most_now() const noexcept {
  return carries_ ? std::min(bears_.most(), carries_->most()) : bears_.most();
}

MDSTREAM_INLINE std::shared_ptr<call_gate::waiter> call_gate::take_first() {
  auto first = waiting_.begin();
  if (placed_ > 0) {
    first = std::ranges::find_if(waiting_, [](const auto& w) { return w->is_needed_now(); });
    if (first == waiting_.end()) first = waiting_.begin();
  }
  std::shared_ptr<waiter> one = std::move(*first);
  forget(first, *one);
  return one;
}

MDSTREAM_INLINE void call_gate::forget(waiters::iterator at, const waiter& one) {
  if (one.place) --placed_;
  waiting_.erase(at);
}

MDSTREAM_INLINE void call_gate::start_waiting(std::unique_lock<std::mutex>& lock) {
  const std::thread::id self = std::this_thread::get_id();
  if (std::ranges::find(starting_, self) != starting_.end()) return;  // it looks again
  starting_.push_back(self);
  while (!waiting_.empty() && in_flight_ < most_now()) {
    std::shared_ptr<waiter> next = take_first();
    next->waits = false;
    ++in_flight_;
    const ticket begun = bears_.started();
    lock.unlock();
    std::exchange(next->start, {})(begun);
    next.reset();  // unlocked: the store inside may go with it, and wait for its last calls
    lock.lock();
  }
  std::erase(starting_, self);
}

}  // namespace mdstream::inline v0::detail
