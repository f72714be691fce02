#pragma once

/// Threads that run queued functions, first in, first out.

#include <mdstream/async/start_thread.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A fixed number of threads for work that computes or blocks: decompression, hashes, blocking
/// stores. `post` may be called from any thread. The destructor finishes what is queued. The
/// constructor throws as `start_thread`.
class thread_pool {
 public:
  explicit thread_pool(unsigned threads) {
    threads_.reserve(std::max(threads, 1U));
    try {
      for (unsigned i = 0; i < std::max(threads, 1U); ++i)
        threads_.push_back(detail::start_thread([this] { work(); }));
    } catch (...) {
      finish();
      throw;
    }
  }
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;
  ~thread_pool() { finish(); }

  /// Runs what is queued, and what that queues, and ends the threads. What is posted later is
  /// destroyed with this and never run. Not for a thread of the pool; may be called again.
  void finish() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  /// Queues `work`, which must not throw.
  void post(unique_function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    wake_.notify_one();
  }

  /// Whether the caller is one of the pool's threads.
  [[nodiscard]] bool runs_here() const noexcept {
    return std::ranges::any_of(threads_, [](const std::thread& thread) {
      return thread.get_id() == std::this_thread::get_id();
    });
  }

  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(threads_.size()); }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      unique_function<void()> next = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      next();
      next = {};
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<unique_function<void()>> queue_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace mdstream::inline v0
