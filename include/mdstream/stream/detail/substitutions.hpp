#pragma once

/// What is read in place of shards that cannot be read. Pure.

#include <mdstream/core/detail/shard_numbers.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// A bad shard is replaced by the next one of its stream, the first one following the last, and its
/// sample `i` by sample `i` of that, counted round; where that one is bad too, it goes on from
/// there. So what is read depends on which shards are bad, and not on the order in which that was
/// found, nor on the world. Not thread-safe.
class substitutions {
 public:
  substitutions() = default;
  explicit substitutions(shard_numbers numbers) : numbers_(std::move(numbers)) {}

  [[nodiscard]] bool empty() const noexcept { return bad_.empty(); }
  /// The bad shards, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& bad() const noexcept { return bad_; }
  [[nodiscard]] bool is_bad(std::uint32_t shard) const noexcept {
    return std::ranges::binary_search(bad_, shard);
  }

  /// Takes a shard for bad from here on. Throws `errc::corrupt` where its stream would have no good
  /// one left, and `errc::out_of_range` for a shard that there is not; nothing changes then.
  void add(std::uint32_t shard);

  /// The shard that is read for this one: itself, unless it is bad.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t shard) const noexcept;

  /// The sample that is read for this one.
  [[nodiscard]] sample_location operator()(sample_location at,
                                           const shard_locator& locate) const noexcept;

 private:
  /// The shards of its stream.
  [[nodiscard]] shard_span around(std::uint32_t shard) const noexcept {
    return numbers_.of_stream(numbers_.stream_of(shard));
  }

  [[nodiscard]] std::uint32_t following(std::uint32_t shard) const noexcept;

  shard_numbers numbers_;
  std::vector<std::uint32_t> bad_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/substitutions.ipp>
#endif
