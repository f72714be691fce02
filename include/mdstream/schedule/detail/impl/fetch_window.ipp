#pragma once

#include <mdstream/schedule/detail/fetch_window.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool fetch_window::want(std::uint32_t shard) {
  state& it = shards_[shard];
  if (it.wanted++ != 0) return false;
  if (it.now == status::idle) {
    it.now = status::queued;
    queue_.push_back({.deadline = next_deadline_++, .shard = shard});
  }
  return true;
}

MDSTREAM_INLINE bool fetch_window::leave(std::uint32_t shard) noexcept {
  state& it = shards_[shard];
  if (--it.wanted != 0) return false;
  if (it.now == status::queued) it.now = status::idle;
  return true;
}

MDSTREAM_INLINE std::optional<std::uint32_t> fetch_window::next() {
  while (!paused_ && in_flight_.size() < most_in_flight_ && !queue_.empty()) {
    const need first = queue_.front();
    queue_.pop_front();
    if (shards_[first.shard].now != status::queued) continue;  // left, or already here
    shards_[first.shard].now = status::in_flight;
    in_flight_.push_back(first);
    return first.shard;
  }
  return std::nullopt;
}

MDSTREAM_INLINE void fetch_window::no_room(std::uint32_t shard) {
  const need back = land(shard);
  paused_ = true;
  if (shards_[shard].wanted == 0) return;
  shards_[shard].now = status::queued;
  queue_.insert(std::ranges::upper_bound(queue_, back.deadline, {}, &need::deadline), back);
}

MDSTREAM_INLINE void fetch_window::found(std::uint32_t shard) noexcept {
  if (shards_[shard].now == status::queued) shards_[shard].now = status::idle;
}

MDSTREAM_INLINE fetch_window::need fetch_window::land(std::uint32_t shard) noexcept {
  const auto at = std::ranges::find(in_flight_, shard, &need::shard);
  const need landed = *at;
  *at = in_flight_.back();
  in_flight_.pop_back();
  shards_[shard].now = status::idle;
  return landed;
}

}  // namespace mdstream::inline v0::detail
