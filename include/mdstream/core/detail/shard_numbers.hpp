#pragma once

/// How shards are numbered over all streams.

#include <mdstream/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace mdstream::inline v0::detail {

/// Shards that follow one another, numbered over all streams.
struct shard_span {
  std::uint32_t begin = 0, end = 0;
};

/// The shards of a stream are numbered behind those of the stream before it.
class shard_numbers {
 public:
  /// Throws `errc::invalid_argument` where there would be 2^32 shards or more.
  void add_stream(std::uint64_t shards) {
    if (shards > 0xffffffffU - this->shards())
      throw error(errc::invalid_argument, "the streams have more than 2^32 shards together");
    first_.push_back(static_cast<std::uint32_t>(this->shards() + shards));
  }

  [[nodiscard]] std::size_t streams() const noexcept { return first_.size() - 1; }
  [[nodiscard]] std::uint32_t shards() const noexcept { return first_.back(); }
  /// The first shard of a stream; `first(streams())` is the number of all.
  [[nodiscard]] std::uint32_t first(std::size_t stream) const noexcept { return first_[stream]; }
  [[nodiscard]] shard_span of_stream(std::size_t stream) const noexcept {
    return {first_[stream], first_[stream + 1]};
  }
  /// The stream of a shard. O(log streams).
  [[nodiscard]] std::size_t stream_of(std::uint64_t shard) const noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(first_, shard) - first_.begin()) - 1;
  }

 private:
  std::vector<std::uint32_t> first_{0};
};

}  // namespace mdstream::inline v0::detail
