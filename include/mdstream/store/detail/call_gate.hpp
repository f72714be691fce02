#pragma once

/// Holds calls back until they may be under way.

#include <mdstream/core/detail/unique_function.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Where calls stand that wait: those that are needed now come first, then those of the lowest
/// turn. Shared by the calls of one fetch; `now` may change while they wait.
struct call_place {
  std::uint64_t turn = 0;
  std::atomic<bool> now{false};
};

/// Lets as many calls in as `Limit` says: by their places, those of equal places and those without
/// one in the order in which they came. Owned by a shared pointer, which who begins or ends a call
/// holds meanwhile. Thread-safe.
template <class Limit>
class call_gate : public std::enable_shared_from_this<call_gate<Limit>> {
 public:
  using ticket = typename Limit::ticket;
  /// Makes the call; without a ticket where it was stopped while it waited, on the thread that
  /// requested the stop. One with a ticket is under way until its `end`.
  using call = unique_function<void(std::optional<ticket>)>;

  explicit call_gate(Limit limit) : limit_(std::move(limit)) {}

  void begin(std::stop_token stop, call start, std::shared_ptr<const call_place> place = nullptr) {
    const auto one = std::make_shared<waiter>(std::move(start), std::move(place));
    {
      std::unique_lock lock(mutex_);
      auto behind = waiting_.end();
      while (behind != waiting_.begin() && one->turn() < (*std::prev(behind))->turn()) --behind;
      one->at = waiting_.insert(behind, one);
      if (one->place) ++placed_;
      start_waiting(lock);
      if (!one->waits) return;
    }
    // Outside the lock: with a stop that came meanwhile it runs at once.
    if (stop.stop_possible()) {
      one->on_stop.emplace(std::move(stop), stopper{this->weak_from_this(), one});
    }
  }

  void end(ticket begun, const std::error_code& failure) {
    std::unique_lock lock(mutex_);
    --in_flight_;
    limit_.ended(begun, failure);
    start_waiting(lock);
  }

  /// Bytes came for one of the calls: `Limit::came` hears of them, ten times a second.
  void came(std::uint64_t bytes) {
    came_.fetch_add(bytes, std::memory_order_relaxed);
    const std::chrono::nanoseconds now = std::chrono::steady_clock::now().time_since_epoch();
    if (now - looked_.load(std::memory_order_relaxed) < std::chrono::milliseconds(100)) return;
    std::unique_lock lock(mutex_);
    looked_.store(now, std::memory_order_relaxed);
    limit_.came(came_.exchange(0, std::memory_order_relaxed), now, !waiting_.empty());
    start_waiting(lock);
  }

  [[nodiscard]] std::size_t in_flight() const {
    const std::lock_guard lock(mutex_);
    return in_flight_;
  }
  /// Calls that may be under way now.
  [[nodiscard]] std::size_t most() const {
    const std::lock_guard lock(mutex_);
    return limit_.most();
  }

 private:
  struct waiter;

  struct stopper {
    std::weak_ptr<call_gate> gate;
    std::weak_ptr<waiter> who;
    void operator()() const {
      const auto all = gate.lock();
      const auto one = who.lock();  // goes first, and this with it
      if (!all || !one) return;
      {
        const std::lock_guard lock(all->mutex_);
        if (!std::exchange(one->waits, false)) return;
        all->forget(one->at, *one);
      }
      one->start(std::nullopt);
    }
  };

  struct waiter {
    waiter(call s, std::shared_ptr<const call_place> p)
        : start(std::move(s)), place(std::move(p)) {}
    [[nodiscard]] std::uint64_t turn() const noexcept { return place ? place->turn : 0; }
    [[nodiscard]] bool is_needed_now() const noexcept {
      return place && place->now.load(std::memory_order_relaxed);
    }

    call start;
    const std::shared_ptr<const call_place> place;
    bool waits = true;
    typename std::list<std::shared_ptr<waiter>>::iterator at{};
    std::optional<std::stop_callback<stopper>> on_stop{};
  };

  /// The caller holds the lock. Calls without a place may be many, and none is needed now.
  [[nodiscard]] std::shared_ptr<waiter> take_first() {
    auto first = waiting_.begin();
    if (placed_ > 0) {
      first = std::ranges::find_if(waiting_, [](const auto& w) { return w->is_needed_now(); });
      if (first == waiting_.end()) first = waiting_.begin();
    }
    std::shared_ptr<waiter> one = std::move(*first);
    forget(first, *one);
    return one;
  }
  void forget(typename std::list<std::shared_ptr<waiter>>::iterator at, const waiter& one) {
    if (one.place) --placed_;
    waiting_.erase(at);
  }

  /// A thread starts calls in a loop: a store whose calls complete at once would otherwise start
  /// each one from within the one before.
  void start_waiting(std::unique_lock<std::mutex>& lock) {
    const std::thread::id self = std::this_thread::get_id();
    if (std::ranges::find(starting_, self) != starting_.end()) return;  // it looks again
    starting_.push_back(self);
    while (!waiting_.empty() && in_flight_ < limit_.most()) {
      std::shared_ptr<waiter> next = take_first();
      next->waits = false;
      ++in_flight_;
      const ticket begun = limit_.started();
      lock.unlock();
      std::exchange(next->start, {})(begun);
      next.reset();  // unlocked: the store inside may go with it, and wait for its last calls
      lock.lock();
    }
    std::erase(starting_, self);
  }

  mutable std::mutex mutex_;
  Limit limit_;
  std::size_t in_flight_ = 0;
  std::atomic<std::uint64_t> came_{0};
  std::atomic<std::chrono::nanoseconds> looked_{std::chrono::nanoseconds(0)};
  std::vector<std::thread::id> starting_{};  // that are within `start_waiting`
  std::list<std::shared_ptr<waiter>> waiting_{};
  std::size_t placed_ = 0;  // of those that wait, with a place
};

}  // namespace mdstream::inline v0::detail
