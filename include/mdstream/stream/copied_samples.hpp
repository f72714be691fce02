#pragma once

/// The samples of a batch whose shards can not all be held at one time.

#include <mdstream/core/bytes.hpp>
#include <mdstream/stream/batch_reader.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace mdstream::inline v0 {

/// Samples that were copied out of their shards, as each shard came. Not thread-safe.
class copied_samples {
 public:
  /// Prepares for the samples of a batch; keeps what was copied of the same batch before.
  void begin(const upcoming_batch& batch) {
    if (of_ == batch.number) return;
    clear();
    of_ = batch.number;
    samples_.resize(batch.locations.size());
  }
  void clear() noexcept {
    of_ = none;
    shards_.clear();
    samples_.clear();
    memory_.clear();
  }

  [[nodiscard]] bool has(std::uint32_t shard) const noexcept {
    return std::ranges::find(shards_, shard) != shards_.end();
  }

  /// Copies all that the batch has of a shard. Throws what its view throws, and has nothing of it.
  template <class View>
  void copy(const upcoming_batch& batch, std::uint32_t shard, const View& view) {
    std::size_t bytes = 0;
    for (const sample_location at : batch.locations)
      if (at.shard == shard) bytes += view[at.index].size();
    std::byte* to = memory_.emplace_back(bytes).data();
    for (std::size_t i = 0; i < batch.locations.size(); ++i) {
      if (batch.locations[i].shard != shard) continue;
      const bytes_view from = view[batch.locations[i].index];
      samples_[i] = {to, from.size()};
      to = std::ranges::copy(from, to).out;
    }
    shards_.push_back(shard);
  }

  /// The batch's sample `i`. Precondition: its shard was copied.
  [[nodiscard]] bytes_view operator[](std::size_t i) const noexcept { return samples_[i]; }

 private:
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t of_ = none;  // number of the batch
  std::vector<std::uint32_t> shards_;
  std::vector<bytes_view> samples_;
  std::deque<std::vector<std::byte>> memory_;  // of each shard
};

}  // namespace mdstream::inline v0
