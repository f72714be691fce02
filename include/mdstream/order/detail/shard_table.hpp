#pragma once

/// The shards of all streams, their sizes and their first sample ids.

#include <mdstream/core/detail/shard_numbers.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/order_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// Shards of all streams, numbered one after another, and their first sample ids. Immutable;
/// O(shards).
class shard_table {
 public:
  /// Throws `errc::invalid_argument` where the samples exceed 2^63.
  explicit shard_table(std::span<const stream_shards> streams);

  /// For shuffles that treat many units (shards, or parts of them) at a time: they fall into groups
  /// of at most this many. A group takes one of every `groups` units that follow one another, at a
  /// place that seems random, so that it is spread over the whole dataset without any pattern.
  static constexpr std::size_t largest_group = 2048;
  [[nodiscard]] static constexpr std::size_t groups(std::size_t shards) noexcept {
    return (shards + largest_group - 1) / largest_group;
  }
  /// The `member`-th unit of a group, of `units` in all.
  [[nodiscard]] static std::size_t group_member(std::size_t units, std::size_t group,
                                                std::size_t member) noexcept {
    const std::size_t count = groups(units), row = member * count;
    const bool whole_row = row + count <= units;
    return row + (whole_row ? (group + mix_bits(member) % count) % count : group);
  }
  /// Units of a group, of `units` in all.
  [[nodiscard]] static std::size_t group_size(std::size_t units, std::size_t group) noexcept {
    return (units - group + groups(units) - 1) / groups(units);
  }
  /// Samples of each group. O(groups) for all shards, O(shards) for some of them.
  [[nodiscard]] std::vector<std::uint64_t> group_sums(std::size_t first, std::size_t last) const {
    return first == 0 && last == shards() ? group_sums_ : sum_groups(first, last);
  }

  [[nodiscard]] std::size_t streams() const noexcept { return numbers_.streams(); }
  [[nodiscard]] std::size_t shards() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] std::uint64_t samples() const noexcept { return begin_.back(); }
  /// First shard of a stream; `first_shard(streams())` is the number of all.
  [[nodiscard]] std::size_t first_shard(std::size_t stream) const { return numbers_.first(stream); }
  /// First sample id of a shard; `begin(shards())` is the number of all samples.
  [[nodiscard]] std::uint64_t begin(std::size_t shard) const { return begin_[shard]; }
  [[nodiscard]] std::uint64_t size(std::size_t shard) const {
    return begin_[shard + 1] - begin_[shard];
  }
  /// Samples of a stream.
  [[nodiscard]] std::uint64_t stream_samples(std::size_t stream) const {
    return begin_[first_shard(stream + 1)] - begin_[first_shard(stream)];
  }
  /// Shard sizes of a stream.
  [[nodiscard]] std::vector<std::uint64_t> sizes(std::size_t stream) const;
  /// The shard that holds a sample. O(log shards).
  [[nodiscard]] std::size_t shard_of(std::uint64_t sample) const {
    const auto after = std::upper_bound(begin_.begin(), begin_.end(), sample);
    return static_cast<std::size_t>(after - begin_.begin()) - 1;
  }

  template <class Size>
  [[nodiscard]] static std::vector<std::uint64_t> sum_of_groups(std::size_t units, Size size_of) {
    std::vector<std::uint64_t> sums(groups(units));
    for (std::size_t row = 0; row * sums.size() < units; ++row)
      for (std::size_t g = 0; g < sums.size() && row * sums.size() + g < units; ++g)
        sums[g] += size_of(group_member(units, g, row));
    return sums;
  }

  /// Whether one of some shards holds no samples. O(1) for all shards, O(shards) for some of them.
  [[nodiscard]] bool has_empty_shard(std::size_t first, std::size_t last) const {
    return has_empty_shard_ && find_empty_shard(first, last);
  }

  /// The stream that a shard belongs to. O(log streams).
  [[nodiscard]] std::size_t stream_of(std::size_t shard) const { return numbers_.stream_of(shard); }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sum_groups(std::size_t first, std::size_t last) const;
  [[nodiscard]] bool find_empty_shard(std::size_t first, std::size_t last) const;

  shard_numbers numbers_;
  std::vector<std::uint64_t> begin_;
  std::vector<std::uint64_t> group_sums_;
  bool has_empty_shard_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/shard_table.ipp>
#endif
