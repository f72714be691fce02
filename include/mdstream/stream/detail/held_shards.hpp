#pragma once

/// The shards that a rank holds for its next batches.

#include <mdstream/cache/detail/shard_ref.hpp>
#include <mdstream/core/detail/pages.hpp>
#include <mdstream/stream/detail/shard_samples.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace mdstream::inline v0::detail {

/// References by shard number, each with the samples of its shard. Not thread-safe; 4 bytes a
/// shard, and what is held.
class held_shards {
 public:
  explicit held_shards(std::size_t shards) : place_(shards, none) {}

  [[nodiscard]] bool holds(std::uint32_t shard) const noexcept { return place_[shard] != none; }

  /// Precondition: it is not held.
  void hold(std::uint32_t shard, shard_ref ref, const shard_samples& samples);

  /// Gives a shard up, to be released where no lock is held: the last reference unmaps.
  void let_go(std::uint32_t shard, std::vector<shard_ref>& released);

  /// Precondition of both: it is held.
  [[nodiscard]] const shard_samples& samples(std::uint32_t shard) const noexcept {
    return held_[place_[shard]].samples;
  }
  [[nodiscard]] const shard_ref& ref(std::uint32_t shard) const noexcept {
    return held_[place_[shard]].ref;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct entry {
    shard_ref ref;
    shard_samples samples;
  };

  large_vector<std::uint32_t> place_;  // of each shard in `held_`
  std::vector<entry> held_;
  std::vector<std::uint32_t> free_;  // places in `held_`
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/held_shards.ipp>
#endif
