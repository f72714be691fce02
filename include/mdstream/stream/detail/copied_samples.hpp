#pragma once

/// The samples of a batch whose shards cannot all be held at one time.

#include <mdstream/core/bytes.hpp>
#include <mdstream/stream/detail/batch_reader.hpp>
#include <mdstream/stream/detail/shard_samples.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace mdstream::inline v0::detail {

/// Samples that were copied out of their shards, as each shard came. Not thread-safe.
class copied_samples {
 public:
  /// Prepares for the samples of a batch; keeps what was copied of the same batch before.
  void begin(const upcoming_batch& batch);
  void clear() noexcept;

  [[nodiscard]] bool has(std::uint32_t shard) const noexcept {
    return std::ranges::find(shards_, shard) != shards_.end();
  }

  /// Copies all that the batch has of a shard. Throws as `shard_samples` does; then nothing was
  /// copied of it.
  void copy(const upcoming_batch& batch, std::uint32_t shard, const shard_samples& from);

  /// The batch's sample `i`. Precondition: its shard was copied.
  [[nodiscard]] bytes_view operator[](std::size_t i) const noexcept { return samples_[i]; }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t of_ = none;  // number of the batch
  std::vector<std::uint32_t> shards_;
  std::vector<bytes_view> samples_;
  std::deque<std::vector<std::byte>> memory_;  // of each shard
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/copied_samples.ipp>
#endif
