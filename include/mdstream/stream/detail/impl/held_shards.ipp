#pragma once

#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/stream/detail/held_shards.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void held_shards::hold(std::uint32_t shard, shard_ref ref,
                                       const shard_samples& samples) {
  if (free_.empty()) {
    held_.push_back({std::move(ref), samples});
    place_[shard] = static_cast<std::uint32_t>(held_.size() - 1);
  } else {
    place_[shard] = free_.back();
    free_.pop_back();
    held_[place_[shard]] = {std::move(ref), samples};
  }
}

MDSTREAM_INLINE void held_shards::let_go(std::uint32_t shard, std::vector<shard_ref>& released) {
  const std::uint32_t place = std::exchange(place_[shard], none);
  if (place == none) return;
  released.push_back(std::move(held_[place].ref));
  free_.push_back(place);
}

}  // namespace mdstream::inline v0::detail
