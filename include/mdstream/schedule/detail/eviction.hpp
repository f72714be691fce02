#pragma once

/// Which shards go when room is needed. Pure.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

/// A next use that never comes.
inline constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

/// How much a request matters: `now` is waited for, `ahead` will be.
enum class urgency : std::uint8_t { now, ahead };

/// A shard that may be evicted, if nobody pins it.
struct eviction_candidate {
  std::uint32_t shard = 0;
  std::uint64_t next_use = 0;  ///< a place in the order, smaller is sooner
  /// What is wanted ahead is needed at a place of its own. `next_use` is then the first use from
  /// there on, and this tells whether there is one before.
  bool needed_before = false;
};

/// A shard that another process reads, so many of its batches from where it is now.
struct use_elsewhere {
  std::uint32_t shard = 0;
  std::uint64_t distance = 0;
};

/// Takes the earlier of a candidate's own next use and those of other processes, whose batches
/// count as long as this one's. `elsewhere` is sorted by shard, each at most once; `now` is this
/// process's place in its order, `from` the place from which the candidates' next uses were asked
/// for.
void count_elsewhere(std::span<eviction_candidate> candidates,
                     std::span<const use_elsewhere> elsewhere, std::uint64_t now,
                     std::uint64_t from) noexcept;

/// Gives candidates in the order in which they should go: the farthest next use first (Belady's
/// rule); among equals what can go at once, then the lowest number.
///
/// What is asked for `ahead` takes only the place that it would take when its time comes: of a
/// shard that is needed later than itself, and no longer before. When the one that should go is
/// needed once more before, fetching ahead has to wait for that. So shards are fetched as often as
/// without fetching ahead, and never displace each other in turn; it is the conservative strategy
/// of Cao, Felten, Karlin and Li, "A study of integrated prefetching and caching strategies"
/// (1995). What is needed now may displace anything. Making a queue is linear in the candidates,
/// each `next` logarithmic.
class eviction_queue {
 public:
  eviction_queue(std::vector<eviction_candidate> candidates, urgency why,
                 std::uint64_t wanted_next_use);

  /// The next shard to evict; nothing if no shard is left, or none can be evicted yet.
  [[nodiscard]] std::optional<eviction_candidate> next();

 private:
  static bool sooner(const eviction_candidate& a, const eviction_candidate& b) noexcept;

  std::vector<eviction_candidate> heap_;
  urgency why_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/eviction.ipp>
#endif
