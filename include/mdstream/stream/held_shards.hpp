#pragma once

/// The shards that a rank holds for its next batches.

#include <mdstream/cache/slots.hpp>
#include <mdstream/core/pages.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// References by shard number, each with the view that was made of it. Not thread-safe; 4 bytes a
/// shard, and what is held.
template <class View>
class held_shards {
 public:
  explicit held_shards(std::size_t shards) : place_(shards, none) {}

  [[nodiscard]] bool holds(std::uint32_t shard) const noexcept { return place_[shard] != none; }

  /// Precondition: it is not held.
  void hold(std::uint32_t shard, shard_ref ref, View view) {
    if (free_.empty()) {
      held_.push_back({std::move(ref), std::move(view)});
      place_[shard] = static_cast<std::uint32_t>(held_.size() - 1);
    } else {
      place_[shard] = free_.back();
      free_.pop_back();
      held_[place_[shard]] = {std::move(ref), std::move(view)};
    }
  }

  /// Gives a shard up, to be released where no lock is held: the last reference unmaps.
  void let_go(std::uint32_t shard, std::vector<shard_ref>& released) {
    const std::uint32_t place = std::exchange(place_[shard], none);
    if (place == none) return;
    released.push_back(std::move(held_[place].ref));
    free_.push_back(place);
  }

  /// Precondition of both: it is held.
  [[nodiscard]] const View& view(std::uint32_t shard) const noexcept {
    return held_[place_[shard]].view;
  }
  [[nodiscard]] const shard_ref& ref(std::uint32_t shard) const noexcept {
    return held_[place_[shard]].ref;
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct entry {
    shard_ref ref;
    View view;
  };

  large_vector<std::uint32_t> place_;  // of each shard in `held_`
  std::vector<entry> held_;
  std::vector<std::uint32_t> free_;  // places in `held_`
};

}  // namespace mdstream::inline v0
