#pragma once

#include <mdstream/core/detail/page_pool.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE page_pool::user::user(page_pool& of) : of_(of) {
  const std::lock_guard lock(of_.mutex_);
  of_.kept_.reserve(kept_for_each * (of_.users_ + 1));
  ++of_.users_;
}

MDSTREAM_INLINE page_pool::user::~user() {
  std::vector<pages> gone;  // after the lock
  const std::lock_guard lock(of_.mutex_);
  if (--of_.users_ == 0) gone.swap(of_.kept_);
  while (of_.kept_.size() > kept_for_each * of_.users_) of_.kept_.pop_back();
}

MDSTREAM_INLINE pages page_pool::user::take(std::size_t bytes) const {
  if (bytes < least) return bytes == 0 ? pages() : pages(bytes);
  {
    const std::lock_guard lock(of_.mutex_);
    auto best = of_.kept_.end();
    for (auto at = of_.kept_.begin(); at != of_.kept_.end(); ++at)
      if (at->capacity() >= bytes && (best == of_.kept_.end() || at->capacity() < best->capacity()))
        best = at;
    if (best != of_.kept_.end()) {
      pages found = std::move(*best);
      of_.kept_.erase(best);
      found.resize(bytes);
      return found;
    }
  }
  // A little more than is asked for takes no memory until it is touched, and serves the next ones,
  // which are seldom of the same size.
  pages made(bytes + std::min(bytes / 8, std::size_t{8} << 20));
  made.resize(bytes);
  return made;
}

MDSTREAM_INLINE void page_pool::user::give(pages used) const noexcept {
  if (used.capacity() < least) return;
  const std::lock_guard lock(of_.mutex_);
  if (of_.kept_.size() < kept_for_each * of_.users_) of_.kept_.push_back(std::move(used));
}

}  // namespace mdstream::inline v0::detail
