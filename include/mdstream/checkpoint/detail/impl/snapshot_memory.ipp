#pragma once

#include <mdstream/checkpoint/detail/snapshot_memory.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE snapshot_block snapshot_memory::take(std::size_t bytes) {
  std::unique_lock lock(mutex_);
  while (true) {
    if (stopped_) throw error(errc::canceled, "the saver was destroyed");
    const auto fits = std::find_if(free_.begin(), free_.end(), [&](const snapshot_block& each) {
      return each.size >= bytes && each.size - bytes <= bytes / 4;
    });
    if (fits != free_.end()) {
      snapshot_block out = std::move(*fits);
      free_.erase(fits);
      ++taken_;
      return out;
    }
    while (!free_.empty() && held_ + bytes > limit_) {
      held_ -= free_.back().size;
      free_.pop_back();
    }
    if (held_ + bytes <= limit_ || taken_ == 0) {
      free_.reserve(free_.size() + taken_ + 1);  // to give it back needs no memory
      snapshot_block out = make(bytes);
      held_ += bytes;
      ++taken_;
      return out;
    }
    changed_.wait(lock);
  }
}

MDSTREAM_INLINE void snapshot_memory::give_back(snapshot_block block) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(block));
  --taken_;
  changed_.notify_all();
}

MDSTREAM_INLINE snapshot_block snapshot_memory::make(std::size_t bytes) const {
  if (device_) return {device_.make_pinned(bytes), bytes};
  const auto memory = std::make_shared<pages>(bytes);
  return {std::shared_ptr<std::byte>(memory, memory->data()), bytes};
}

MDSTREAM_INLINE void snapshot_memory::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace mdstream::inline v0::detail
