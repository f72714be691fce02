#pragma once

/// 64-bit fingerprints of what a saved state relies on: the dataset, the mix and the order.

#include <mdstream/core/error.hpp>
#include <mdstream/core/fnv.hpp>
#include <mdstream/order/order_options.hpp>
#include <mdstream/order/resample.hpp>
#include <mdstream/order/weights.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// What the order of a run depends on. Two runs with equal fingerprints and the same resume point
/// read the same samples; `global_batch_size` is itself, for a message that people understand.
struct order_fingerprint {
  std::uint64_t dataset = 0;            ///< streams, their shards and the samples in each
  std::uint64_t mix = 0;                ///< samples and proportion of each stream in an epoch
  std::uint64_t order = 0;              ///< shuffler and options
  std::uint64_t global_batch_size = 0;  ///< samples of all distinct ranks in a batch

  friend bool operator==(const order_fingerprint&, const order_fingerprint&) = default;
};

namespace detail {

[[nodiscard]] inline std::uint64_t fingerprint_of(const shard_table& shards) {
  fnv1a hash;
  hash.add(static_cast<std::uint64_t>(shards.streams()));
  for (std::size_t k = 0; k <= shards.streams(); ++k)
    hash.add(static_cast<std::uint64_t>(shards.first_shard(k)));
  for (std::size_t s = 0; s < shards.shards(); ++s) hash.add(shards.size(s));
  return hash.value();
}

[[nodiscard]] inline std::uint64_t fingerprint_of(const stream_mix& mix) {
  fnv1a hash;
  hash.add(mix.epoch_size);
  for (const std::uint64_t c : mix.choose) hash.add(c);
  for (const double p : mix.proportion) hash.add(p);
  return hash.value();
}

/// The seed, the canonical nodes and the epoch stand in the resume point and are replaced by it, so
/// they are no part of this.
[[nodiscard]] inline std::uint64_t fingerprint_of(const order_options& options,
                                                  std::string_view shuffler) {
  fnv1a hash;
  hash.add(to_string(options.sampling));
  hash.add(options.sampling_granularity);
  hash.add(to_string(options.partition));
  hash.add(static_cast<std::uint8_t>(options.shuffle));
  if (options.shuffle) hash.add(shuffler);
  hash.add(options.shuffle_block_size.value_or(0));
  hash.add(to_string(options.batching));
  return hash.value();
}

}  // namespace detail

/// The fingerprint of an engine (`order_engine` of any shuffler). O(shards).
template <class Engine>
[[nodiscard]] order_fingerprint fingerprint(const Engine& engine, std::uint64_t global_batch_size) {
  return {.dataset = detail::fingerprint_of(engine.shards()),
          .mix = detail::fingerprint_of(engine.mix()),
          .order = detail::fingerprint_of(engine.options(), engine.shuffler_model().name()),
          .global_batch_size = global_batch_size};
}

/// Throws `errc::state_mismatch`, naming the first part that differs and both its values, unless a
/// state with the fingerprint `saved` may be resumed by a run with the fingerprint `current`.
inline void check_same_order(const order_fingerprint& saved, const order_fingerprint& current) {
  const auto check = [](std::string_view what, std::uint64_t was, std::uint64_t is) {
    if (was != is)
      throw error(errc::state_mismatch, "the saved state is of another " + std::string(what) +
                                            ": " + std::to_string(was) + ", here " +
                                            std::to_string(is));
  };
  check("dataset (fingerprint of shards and their samples)", saved.dataset, current.dataset);
  check("mix (fingerprint of samples from each stream)", saved.mix, current.mix);
  check("order (fingerprint of shuffler and options)", saved.order, current.order);
  check("global batch size", saved.global_batch_size, current.global_batch_size);
}

}  // namespace mdstream::inline v0
