#pragma once

/// Work of the pool that has to be done in order.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/unique_function.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <utility>

namespace mdstream::inline v0 {

/// Runs what is posted on the runtime's pool, one piece at a time, first in, first out; other work
/// of the pool has its turns in between. Thread-safe. What is queued is run even when this is gone.
class strand {
 public:
  /// `threads` has to outlive this and what is queued.
  explicit strand(runtime& threads) : it_(std::make_shared<state>(threads)) {}

  /// Queues `work`, which must not throw.
  void post(unique_function<void()> work) {
    {
      const std::lock_guard lock(it_->mutex);
      it_->queue.push_back(std::move(work));
      if (std::exchange(it_->busy, true)) return;
    }
    it_->threads.post([it = it_] { run_one(it); });
  }

 private:
  struct state {
    explicit state(runtime& of) : threads(of) {}
    runtime& threads;
    std::mutex mutex;
    std::deque<unique_function<void()>> queue;
    bool busy = false;
  };

  static void run_one(const std::shared_ptr<state>& it) {
    unique_function<void()> next;
    {
      const std::lock_guard lock(it->mutex);
      next = std::move(it->queue.front());
      it->queue.pop_front();
    }
    next();
    next = {};
    {
      const std::lock_guard lock(it->mutex);
      if (!(it->busy = !it->queue.empty())) return;
    }
    it->threads.post([it] { run_one(it); });
  }

  std::shared_ptr<state> it_;
};

}  // namespace mdstream::inline v0
