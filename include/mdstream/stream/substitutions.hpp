#pragma once

/// What is read in place of shards that can not be read. Pure.

#include <mdstream/core/error.hpp>
#include <mdstream/stream/shard_locator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A bad shard is replaced by the next one of its stream, the first one following the last, and its
/// sample `i` by sample `i` of that, counted round; where that one is bad too, it goes on from
/// there. So what is read depends on which shards are bad, and not on the order in which that was
/// found, nor on the world. Not thread-safe.
class substitutions {
 public:
  substitutions() = default;
  /// `streams`: the number of shards of each, in order.
  explicit substitutions(const std::vector<std::uint32_t>& streams) {
    begin_.reserve(streams.size() + 1);
    for (const std::uint32_t shards : streams) begin_.push_back(begin_.back() + shards);
  }

  [[nodiscard]] bool empty() const noexcept { return bad_.empty(); }
  /// The bad shards, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& bad() const noexcept { return bad_; }
  [[nodiscard]] bool is_bad(std::uint32_t shard) const noexcept {
    return std::ranges::binary_search(bad_, shard);
  }

  /// Takes a shard for bad from here on. Throws `errc::corrupt` where its stream would have no good
  /// one left, and `errc::out_of_range` for a shard that there is not; nothing changes then.
  void add(std::uint32_t shard) {
    if (is_bad(shard)) return;
    if (shard >= begin_.back())
      throw error(errc::out_of_range,
                  "bad shard " + std::to_string(shard) + " of " + std::to_string(begin_.back()));
    const auto [first, end] = stream_of(shard);
    const auto bad_here =
        std::ranges::lower_bound(bad_, end) - std::ranges::lower_bound(bad_, first);
    if (static_cast<std::uint32_t>(bad_here) + 1 == end - first)
      throw error(errc::corrupt,
                  "no shard of the stream is left that could take the place of one "
                  "that can not be read");
    bad_.insert(std::ranges::lower_bound(bad_, shard), shard);
  }

  /// The shard that is read for this one: itself, unless it is bad.
  [[nodiscard]] std::uint32_t operator()(std::uint32_t shard) const noexcept {
    while (is_bad(shard)) shard = following(shard);
    return shard;
  }

  /// The sample that is read for this one.
  [[nodiscard]] sample_location operator()(sample_location at,
                                           const shard_locator& locate) const noexcept {
    while (is_bad(at.shard)) {
      at.shard = following(at.shard);
      at.index = static_cast<std::uint32_t>(at.index % locate.shard_samples(at.shard));
    }
    return at;
  }

 private:
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> stream_of(
      std::uint32_t shard) const noexcept {
    const auto after = std::ranges::upper_bound(begin_, shard);
    return {*(after - 1), *after};
  }

  [[nodiscard]] std::uint32_t following(std::uint32_t shard) const noexcept {
    const auto [first, end] = stream_of(shard);
    return shard + 1 == end ? first : shard + 1;
  }

  std::vector<std::uint32_t> begin_{0};  // first shard of each stream, and the end
  std::vector<std::uint32_t> bad_;
};

}  // namespace mdstream::inline v0
