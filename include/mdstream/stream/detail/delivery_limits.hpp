#pragma once

/// How far a delivery looks and fetches ahead, and what there is to tell of it.

#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// How far a rank looks and fetches ahead.
struct delivery_limits {
  std::uint64_t predownload = 0;  ///< samples ahead whose shards are fetched
  std::uint64_t horizon = 0;      ///< samples ahead whose order eviction knows, where it evicts
  std::size_t requests = 1;       ///< shards that are fetched ahead at the same time
  bool substitute = false;        ///< other shards are read in place of those that cannot be
};

/// What became of the shards that batches needed.
struct shard_counters {
  std::uint64_t needed = 0;  ///< shards, counted once for each batch
  std::uint64_t missed = 0;  ///< of these, such that the batch had to wait for
};

/// How much of an epoch is left to read ahead.
enum class epoch_outlook : std::uint8_t {
  far,         ///< more than an eighth of its order
  near_end,    ///< less
  all_fetched  ///< nothing, and all of its shards have been asked for
};

}  // namespace mdstream::inline v0::detail
