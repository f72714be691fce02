#pragma once

/// Which shards to fetch ahead, and when one is no longer wanted: between the order of an epoch and
/// the cache. Pure: it is told what happened and answers what to do.

#include <mdstream/core/detail/pages.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace mdstream::inline v0::detail {

/// Not thread-safe. Memory: 8 bytes a shard, and the queue.
///
/// Batches ask for their shards in the order in which they will be delivered, so the queue is
/// ordered by deadline, and stays so when some come back to it. A shard is fetched once for all
/// batches of the window that want it. When there is no room for one, there is none for those
/// behind it either: fetching pauses until the window has moved.
class fetch_window {
 public:
  fetch_window(std::size_t shards, std::size_t most_in_flight)
      : shards_(shards), most_in_flight_(most_in_flight) {}

  /// No more are fetched at a time from here on.
  void bound(std::size_t most_in_flight) noexcept { most_in_flight_ = most_in_flight; }

  /// One more batch wants this shard. True when it is the first one; the shard is queued then,
  /// unless it is on its way already.
  bool want(std::uint32_t shard);

  /// A batch that wanted this shard has been delivered. True when no other batch wants it.
  bool leave(std::uint32_t shard) noexcept;

  /// The shard to fetch next, which counts as in flight from here on; nothing while enough are, or
  /// while there is no room, or none is queued.
  [[nodiscard]] std::optional<std::uint32_t> next();

  /// The fetch of this shard has ended. Whether it succeeded is for the batch to see that needs it.
  void fetched(std::uint32_t shard) noexcept { static_cast<void>(land(shard)); }

  /// The fetch of this shard found no room: it goes back to its place in the queue, and nothing is
  /// fetched before `moved`.
  void no_room(std::uint32_t shard);

  /// The shard turned out to be here before it was fetched.
  void found(std::uint32_t shard) noexcept;

  /// The window has moved on: there may be room again.
  void moved() noexcept { paused_ = false; }

  /// Whether all shards that were wanted have been asked for, some perhaps not answered yet.
  [[nodiscard]] bool all_asked() const noexcept { return queue_.empty(); }
  /// Whether fetching waits for room.
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  [[nodiscard]] bool wanted(std::uint32_t shard) const noexcept {
    return shards_[shard].wanted != 0;
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_.size(); }

 private:
  enum class status : std::uint8_t { idle, queued, in_flight };

  struct state {
    std::uint32_t wanted = 0;  // batches of the window
    status now = status::idle;
  };

  struct need {
    std::uint64_t deadline;  // the later, the higher
    std::uint32_t shard;
  };

  need land(std::uint32_t shard) noexcept;

  large_vector<state> shards_;
  std::deque<need> queue_;  // in the order of deadlines
  std::vector<need> in_flight_;
  std::size_t most_in_flight_;
  std::uint64_t next_deadline_ = 0;
  bool paused_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/fetch_window.ipp>
#endif
