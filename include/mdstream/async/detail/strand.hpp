#pragma once

/// Work of the pool that has to be done in order.

#include <mdstream/async/runtime.hpp>
#include <mdstream/core/detail/unique_function.hpp>

#include <memory>
#include <mutex>

namespace mdstream::inline v0::detail {

/// Runs what is posted on the runtime's pool, one piece at a time, first in, first out; other work
/// of the pool has its turns in between. Thread-safe. What is queued is run even when this is gone.
class strand {
 public:
  /// `threads` has to outlive this and what is queued.
  explicit strand(runtime& threads) : it_(std::make_shared<state>(threads)) {}

  /// Queues `work`, which must not throw.
  void post(unique_function<void()> work);

 private:
  struct state {
    explicit state(runtime& of) : threads(of) {}
    runtime& threads;
    std::mutex mutex;
    task_queue queue;
    bool busy = false;
  };

  static void run_one(const std::shared_ptr<state>& it);

  std::shared_ptr<state> it_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/strand.ipp>
#endif
