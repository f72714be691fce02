#pragma once

/// Which shards go when room is needed. Pure.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A next use that never comes.
inline constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

/// How much a request matters: `now` is waited for, `ahead` will be.
enum class urgency : std::uint8_t { now, ahead };

/// A shard that may be evicted, if nobody pins it.
struct eviction_candidate {
  std::uint32_t shard = 0;
  std::uint64_t next_use = 0;  ///< a place in the order, smaller is sooner
};

/// Gives candidates in the order in which they should go: the farthest next use first (Belady's
/// rule), the lowest number first among equals. What is asked for `ahead` may only displace what is
/// needed later than it is itself, so that fetching ahead never makes two shards displace each
/// other in turn; what is needed now may displace anything. Making it is linear in the candidates,
/// each `next` logarithmic.
class eviction_queue {
 public:
  eviction_queue(std::vector<eviction_candidate> candidates, urgency why,
                 std::uint64_t wanted_next_use)
      : heap_(std::move(candidates)) {
    if (why == urgency::ahead) {
      std::erase_if(heap_, [wanted_next_use](const eviction_candidate& c) {
        return c.next_use <= wanted_next_use;
      });
    }
    std::make_heap(heap_.begin(), heap_.end(), sooner);
  }

  /// The next to go; none when all were given.
  [[nodiscard]] std::optional<eviction_candidate> next() {
    if (heap_.empty()) return std::nullopt;
    std::pop_heap(heap_.begin(), heap_.end(), sooner);
    const eviction_candidate farthest = heap_.back();
    heap_.pop_back();
    return farthest;
  }

 private:
  static bool sooner(const eviction_candidate& a, const eviction_candidate& b) noexcept {
    return a.next_use != b.next_use ? a.next_use < b.next_use : a.shard > b.shard;
  }

  std::vector<eviction_candidate> heap_;
};

}  // namespace mdstream::inline v0
