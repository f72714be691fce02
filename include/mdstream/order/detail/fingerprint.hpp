#pragma once

/// 64-bit fingerprints of what a saved state relies on and is too large to be part of it.

#include <mdstream/core/fnv.hpp>
#include <mdstream/order/detail/sampling.hpp>
#include <mdstream/order/detail/shard_table.hpp>
#include <mdstream/order/detail/weights.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// Of the streams, their shards and the samples in each. O(shards).
[[nodiscard]] inline std::uint64_t fingerprint(const shard_table& shards) {
  fnv1a hash;
  hash.add(static_cast<std::uint64_t>(shards.streams()));
  for (std::size_t k = 0; k <= shards.streams(); ++k)
    hash.add(static_cast<std::uint64_t>(shards.first_shard(k)));
  for (std::size_t s = 0; s < shards.shards(); ++s) hash.add(shards.size(s));
  return hash.value();
}

/// Of the samples and the proportion of each stream in an epoch. O(streams).
[[nodiscard]] inline std::uint64_t fingerprint(const stream_mix& mix) {
  fnv1a hash;
  hash.add(mix.epoch_size);
  for (const std::uint64_t c : mix.choose) hash.add(c);
  for (const double p : mix.proportion) hash.add(p);
  return hash.value();
}

}  // namespace mdstream::inline v0::detail
