#pragma once

/// How well an order is shuffled: the measure of MosaicML Streaming's simulator.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace mdstream::inline v0::detail {

/// Entropy in bits of the distances between neighbours.
[[nodiscard]] inline double distance_entropy(std::span<const std::int64_t> values) {
  std::unordered_map<std::int64_t, std::uint64_t> count;
  for (std::size_t i = 1; i < values.size(); ++i)
    ++count[values[i] > values[i - 1] ? values[i] - values[i - 1] : values[i - 1] - values[i]];
  const auto total = static_cast<double>(values.size() - 1);
  double entropy = 0;
  for (const auto& [distance, n] : count) {
    const double p = static_cast<double>(n) / total;
    entropy -= p * std::log2(p);
  }
  return entropy;
}

/// The harmonic mean of two entropies, in bits: that of the distances between neighbouring samples,
/// and that of the distances between their shards, where shards hold `samples_per_shard` each.
/// Greater is better mixed. `ids` without padding, at least two of them. O(ids) time and memory.
[[nodiscard]] inline double shuffle_quality(std::span<const std::int64_t> ids,
                                            std::uint64_t samples_per_shard) {
  std::vector<std::int64_t> shards;
  shards.reserve(ids.size());
  for (const std::int64_t id : ids)
    shards.push_back(id / static_cast<std::int64_t>(samples_per_shard));
  const double a = detail::distance_entropy(ids), b = detail::distance_entropy(shards);
  return 2 * a * b / (a + b);
}

}  // namespace mdstream::inline v0::detail
