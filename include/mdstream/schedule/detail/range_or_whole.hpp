#pragma once

/// Whether a sample of a shard that is not here is read by itself, or the shard is fetched whole.
/// Pure.

#include <cstdint>
#include <unordered_map>

namespace mdstream::inline v0::detail {

/// Ranges are read until they have cost what the whole shard would have, and then it is fetched: so
/// it is never dearer than twice what would have been best, whatever is read next (the problem of
/// renting skis). What a request costs besides its bytes is told in bytes that could have come
/// meanwhile: latency times rate. Not thread-safe. Memory: for each shard that was read in ranges.
class range_or_whole {
 public:
  explicit range_or_whole(std::uint64_t request_bytes) : request_bytes_(request_bytes) {}

  /// Whether the next `bytes`, by so many requests, of a shard of `shard_bytes` are to be read by
  /// themselves; if so they count. Otherwise the shard is to be fetched, and counts anew.
  [[nodiscard]] bool by_range(std::uint32_t shard, std::uint64_t shard_bytes, std::uint64_t bytes,
                              std::uint64_t requests);

 private:
  std::uint64_t request_bytes_;
  std::unordered_map<std::uint32_t, std::uint64_t> spent_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/range_or_whole.ipp>
#endif
