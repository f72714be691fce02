#pragma once

#include <mdstream/stream/detail/copied_samples.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void copied_samples::begin(const upcoming_batch& batch) {
  if (of_ == batch.number) return;
  clear();
  of_ = batch.number;
  samples_.resize(batch.locations.size());
}

MDSTREAM_INLINE void copied_samples::clear() noexcept {
  of_ = none;
  shards_.clear();
  samples_.clear();
  memory_.clear();
}

MDSTREAM_INLINE void copied_samples::copy(const upcoming_batch& batch, std::uint32_t shard,
                                          const shard_samples& from) {
  std::size_t bytes = 0;
  for (const sample_location at : batch.locations)
    if (at.shard == shard) bytes += from[at.index].size();
  std::byte* to = memory_.emplace_back(bytes).data();
  for (std::size_t i = 0; i < batch.locations.size(); ++i) {
    if (batch.locations[i].shard != shard) continue;
    const bytes_view sample = from[batch.locations[i].index];
    samples_[i] = {to, sample.size()};
    to = std::ranges::copy(sample, to).out;
  }
  shards_.push_back(shard);
}

}  // namespace mdstream::inline v0::detail
