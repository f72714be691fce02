#pragma once

/// Threads that run queued functions, first in, first out.

#include <mdstream/core/detail/handler_memory.hpp>
#include <mdstream/core/detail/unique_function.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace mdstream::inline v0::detail {

/// Grows as long as there is memory for handlers.
using task_queue = std::deque<unique_function<void()>, handler_allocator<unique_function<void()>>>;

/// A fixed number of threads for work that computes or blocks: decompression, hashes, blocking
/// stores. `post` may be called from any thread. The destructor finishes what is queued. The
/// constructor throws as `start_thread`.
class thread_pool {
 public:
  explicit thread_pool(unsigned threads);
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() { finish(); }

  /// Runs what is queued, and what that queues, and ends the threads. What is posted later is
  /// destroyed with this and never run. Not for a thread of the pool; may be called again.
  void finish();

  /// Queues `work`, which must not throw.
  void post(unique_function<void()> work);

  /// Whether the caller is one of the pool's threads.
  [[nodiscard]] bool runs_here() const noexcept;

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()); }

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  task_queue queue_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/pool.ipp>
#endif
