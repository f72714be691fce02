#pragma once

/// Holds calls back until they may be under way.

#include <mdstream/core/unique_function.hpp>

#include <algorithm>
#include <cstddef>
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

/// Lets as many calls in as `Limit` says, in the order in which they came. Owned by a shared
/// pointer, which who begins or ends a call holds meanwhile. Thread-safe.
template <class Limit>
class call_gate : public std::enable_shared_from_this<call_gate<Limit>> {
 public:
  using ticket = typename Limit::ticket;
  /// Makes the call; without a ticket where it was stopped while it waited, on the thread that
  /// requested the stop. One with a ticket is under way until its `end`.
  using call = unique_function<void(std::optional<ticket>)>;

  explicit call_gate(Limit limit) : limit_(std::move(limit)) {}

  void begin(std::stop_token stop, call start) {
    const auto one = std::make_shared<waiter>(std::move(start));
    {
      std::unique_lock lock(mutex_);
      one->place = waiting_.insert(waiting_.end(), one);
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
        all->waiting_.erase(one->place);
      }
      one->start(std::nullopt);
    }
  };

  struct waiter {
    explicit waiter(call s) : start(std::move(s)) {}
    call start;
    bool waits = true;
    typename std::list<std::shared_ptr<waiter>>::iterator place{};
    std::optional<std::stop_callback<stopper>> on_stop{};
  };

  /// A thread starts calls in a loop: a store whose calls complete at once would otherwise start
  /// each one from within the one before.
  void start_waiting(std::unique_lock<std::mutex>& lock) {
    const std::thread::id self = std::this_thread::get_id();
    if (std::ranges::find(starting_, self) != starting_.end()) return;  // it looks again
    starting_.push_back(self);
    while (!waiting_.empty() && in_flight_ < limit_.most()) {
      std::shared_ptr<waiter> next = std::move(waiting_.front());
      waiting_.pop_front();
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
  std::vector<std::thread::id> starting_{};  // that are within `start_waiting`
  std::list<std::shared_ptr<waiter>> waiting_{};
};

}  // namespace mdstream::inline v0::detail
