#pragma once

#include <mdstream/async/detail/strand.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void strand::post(unique_function<void()> work) {
  {
    const std::lock_guard lock(it_->mutex);
    it_->queue.push_back(std::move(work));
    if (std::exchange(it_->busy, true)) return;
  }
  it_->threads.post([it = it_] { run_one(it); });
}

MDSTREAM_INLINE void strand::run_one(const std::shared_ptr<state>& it) {
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

}  // namespace mdstream::inline v0::detail
