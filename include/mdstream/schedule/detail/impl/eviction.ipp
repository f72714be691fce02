#pragma once

#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void count_elsewhere(std::span<eviction_candidate> candidates,
                                     std::span<const use_elsewhere> elsewhere, std::uint64_t now,
                                     std::uint64_t from) noexcept {
  for (eviction_candidate& each : candidates) {
    const auto at = std::ranges::lower_bound(elsewhere, each.shard, {}, &use_elsewhere::shard);
    if (at == elsewhere.end() || at->shard != each.shard) continue;
    const std::uint64_t place = at->distance < never - now ? now + at->distance : never - 1;
    if (place < from)
      each.needed_before = true;
    else
      each.next_use = std::min(each.next_use, place);
  }
}

MDSTREAM_INLINE eviction_queue::eviction_queue(std::vector<eviction_candidate> candidates,
                                               urgency why, std::uint64_t wanted_next_use)
    : heap_(std::move(candidates)), why_(why) {
  if (why == urgency::ahead) {
    std::erase_if(heap_, [wanted_next_use](const eviction_candidate& c) {
      return c.next_use <= wanted_next_use;
    });
  }
  std::make_heap(heap_.begin(), heap_.end(), sooner);
}

MDSTREAM_INLINE std::optional<eviction_candidate> eviction_queue::next() {
  if (heap_.empty() || (why_ == urgency::ahead && heap_.front().needed_before)) {
    return std::nullopt;
  }
  std::pop_heap(heap_.begin(), heap_.end(), sooner);
  const eviction_candidate farthest = heap_.back();
  heap_.pop_back();
  return farthest;
}

MDSTREAM_INLINE bool eviction_queue::sooner(const eviction_candidate& a,
                                            const eviction_candidate& b) noexcept {
  if (a.next_use != b.next_use) return a.next_use < b.next_use;
  if (a.needed_before != b.needed_before) return a.needed_before;
  return a.shard > b.shard;
}

}  // namespace mdstream::inline v0::detail
