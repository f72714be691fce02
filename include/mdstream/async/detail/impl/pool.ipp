#pragma once

#include <mdstream/async/detail/pool.hpp>
#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE thread_pool::thread_pool(unsigned threads) {
  threads_.reserve(std::max(threads, 1U));
  try {
    for (unsigned i = 0; i < std::max(threads, 1U); ++i)
      threads_.push_back(detail::start_thread([this] { work(); }));
  } catch (...) {
    finish();
    throw;
  }
}

MDSTREAM_INLINE void thread_pool::finish() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

MDSTREAM_INLINE void thread_pool::post(unique_function<void()> work) {
  // Waking under the lock: the work may be what its owner waits for before it destroys the pool.
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  wake_.notify_one();
}

MDSTREAM_INLINE bool thread_pool::runs_here() const noexcept {
  return std::ranges::any_of(threads_, [](const std::thread& thread) {
    return thread.get_id() == std::this_thread::get_id();
  });
}

MDSTREAM_INLINE void thread_pool::work() {
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

}  // namespace mdstream::inline v0::detail
