#pragma once

/// Which shards to fetch ahead, and when one is no longer wanted: between the order of an epoch and
/// the cache. Pure: it is told what happened and answers what to do.

#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace mdstream::inline v0 {

/// Not thread-safe. Memory: 8 bytes a shard, and the queue.
///
/// Batches ask for their shards in the order in which they will be delivered, so the queue is
/// ordered by deadline. A shard is fetched once for all batches of the window that want it. When
/// there is no room for one, there is none for those behind it either: fetching pauses until the
/// window has moved.
class fetch_window {
 public:
  fetch_window(std::size_t shards, std::size_t most_in_flight)
      : shards_(shards), most_in_flight_(most_in_flight) {}

  /// One more batch wants this shard. True when it is the first one; the shard is queued then,
  /// unless it is on its way already.
  bool want(std::uint32_t shard) {
    state& it = shards_[shard];
    if (it.wanted++ != 0) return false;
    if (it.now == status::idle) {
      it.now = status::queued;
      queue_.push_back(shard);
    }
    return true;
  }

  /// A batch that wanted this shard has been delivered. True when no other batch wants it.
  bool leave(std::uint32_t shard) noexcept {
    state& it = shards_[shard];
    if (--it.wanted != 0) return false;
    if (it.now == status::queued) it.now = status::idle;
    return true;
  }

  /// The shard to fetch next, which counts as in flight from here on; nothing while enough are, or
  /// while there is no room, or none is queued.
  [[nodiscard]] std::optional<std::uint32_t> next() {
    while (!paused_ && in_flight_ < most_in_flight_ && !queue_.empty()) {
      const std::uint32_t shard = queue_.front();
      queue_.pop_front();
      if (shards_[shard].now != status::queued) continue;  // left, or already here
      shards_[shard].now = status::in_flight;
      ++in_flight_;
      return shard;
    }
    return std::nullopt;
  }

  /// The fetch of this shard has ended. Whether it succeeded is for the batch to see that needs it.
  void fetched(std::uint32_t shard) noexcept {
    --in_flight_;
    shards_[shard].now = status::idle;
  }

  /// The fetch of this shard found no room: it goes to the head of the queue, and nothing is
  /// fetched before `moved`.
  void no_room(std::uint32_t shard) {
    fetched(shard);
    paused_ = true;
    if (shards_[shard].wanted == 0) return;
    shards_[shard].now = status::queued;
    queue_.push_front(shard);
  }

  /// The shard turned out to be here before it was fetched.
  void found(std::uint32_t shard) noexcept {
    if (shards_[shard].now == status::queued) shards_[shard].now = status::idle;
  }

  /// The window has moved on: there may be room again.
  void moved() noexcept { paused_ = false; }

  /// Whether all shards that were wanted have been asked for, some perhaps not answered yet.
  [[nodiscard]] bool all_asked() const noexcept { return queue_.empty(); }
  /// Whether fetching waits for room.
  [[nodiscard]] bool paused() const noexcept { return paused_; }
  [[nodiscard]] bool wanted(std::uint32_t shard) const noexcept {
    return shards_[shard].wanted != 0;
  }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }

 private:
  enum class status : std::uint8_t { idle, queued, in_flight };

  struct state {
    std::uint32_t wanted = 0;  // batches of the window
    status now = status::idle;
  };

  std::vector<state> shards_;
  std::deque<std::uint32_t> queue_;
  std::size_t most_in_flight_;
  std::size_t in_flight_ = 0;
  bool paused_ = false;
};

}  // namespace mdstream::inline v0
