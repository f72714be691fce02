#pragma once

#include <mdstream/schedule/detail/range_or_whole.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool range_or_whole::by_range(std::uint32_t shard, std::uint64_t shard_bytes,
                                              std::uint64_t bytes, std::uint64_t requests) {
  std::uint64_t& spent = spent_[shard];
  const std::uint64_t cost = bytes + requests * request_bytes_;
  if (spent + cost < shard_bytes + request_bytes_) {
    spent += cost;
    return true;
  }
  spent_.erase(shard);
  return false;
}

}  // namespace mdstream::inline v0::detail
