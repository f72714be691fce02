#pragma once

/// What to fetch ahead, and in which order. Pure: the caller tells what happened and does what it
/// is told.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

namespace mdstream::inline v0 {

struct prefetch_limits {
  /// Requests that may be under way at one time; at least 1.
  std::size_t in_flight = 16;
  /// Bytes of shards, fetched or under way, that are needed from here on. The next shard needed is
  /// asked for in any case.
  std::uint64_t bytes_ahead = std::numeric_limits<std::uint64_t>::max();
};

/// The needs ahead of a reader, each a shard and a place in the order, and the requests for them in
/// order of their first need. Not thread-safe. Every call takes amortised constant time; memory
/// grows with the needs in the window.
///
/// A shard in the window is wanted, requested, or settled (there, or failed for good: its reader
/// will see). Out of the window nothing is remembered of it.
class prefetch_window {
 public:
  explicit prefetch_window(prefetch_limits limits) : limits_(limits) {
    limits_.in_flight = std::max<std::size_t>(limits_.in_flight, 1);
  }

  /// Appends a need. Places never decrease; the same shard may be needed at many.
  void need(std::uint32_t shard, std::uint64_t place, std::uint64_t bytes) {
    needs_.push_back({shard, place});
    entry& known = entries_.try_emplace(shard, entry{.bytes = bytes}).first->second;
    ++known.needs;
  }

  /// The reader has passed every need below `place`. Returns the shards that left the window with
  /// that: they may be given up.
  std::vector<std::uint32_t> advance(std::uint64_t place) {
    std::vector<std::uint32_t> left;
    while (!needs_.empty() && needs_.front().place < place) {
      const std::uint32_t shard = needs_.front().shard;
      needs_.pop_front();
      if (asked_ > 0) --asked_;
      const auto at = entries_.find(shard);
      if (--at->second.needs > 0) continue;
      if (at->second.now != state::wanted) ahead_ -= at->second.bytes;
      if (at->second.now == state::requested) {
        leaving_.push_back(shard);  // its request still counts until it has ended
      }
      entries_.erase(at);
      left.push_back(shard);
    }
    if (!left.empty()) blocked_ = false;
    return left;
  }

  /// The shard to request now; none when the limits do not allow one, or everything is requested.
  /// It counts as requested from here on, until `settled` or `refused`.
  [[nodiscard]] std::optional<std::uint32_t> next() {
    while (asked_ < needs_.size()) {
      entry& first = entries_.at(needs_[asked_].shard);
      if (first.now != state::wanted) {
        ++asked_;
        continue;
      }
      if (!allowed(needs_[asked_].shard, first)) return std::nullopt;
      first.now = state::requested;
      ahead_ += first.bytes;
      ++in_flight_;
      return needs_[asked_++].shard;
    }
    return std::nullopt;
  }

  /// A request has ended: the shard is there, or can not be had.
  void settled(std::uint32_t shard) {
    blocked_ = false;
    if (entry* const known = end_request(shard)) known->now = state::settled;
  }

  /// A request has ended because there was no room. Nothing is asked for until another request
  /// ends or the reader advances.
  void refused(std::uint32_t shard) {
    if (entry* const known = end_request(shard)) {
      want_again(shard, *known);
      blocked_ = true;
    }
  }

  /// A shard that was settled is gone again.
  void lost(std::uint32_t shard) {
    const auto at = entries_.find(shard);
    if (at != entries_.end() && at->second.now == state::settled) {
      want_again(shard, at->second);
    }
  }

  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] std::uint64_t bytes_ahead() const noexcept { return ahead_; }
  [[nodiscard]] bool empty() const noexcept { return needs_.empty(); }

 private:
  enum class state : std::uint8_t { wanted, requested, settled };
  struct place_of {
    std::uint32_t shard;
    std::uint64_t place;
  };
  struct entry {
    std::uint64_t bytes = 0;
    std::uint64_t needs = 0;
    state now = state::wanted;
  };

  /// A shard that came back into the window while its old request is under way waits for that.
  [[nodiscard]] bool allowed(std::uint32_t shard, const entry& wanted) const {
    if (in_flight_ >= limits_.in_flight) return false;
    if (std::find(leaving_.begin(), leaving_.end(), shard) != leaving_.end()) return false;
    if (asked_ == 0) return true;  // the reader waits for it
    return !blocked_ && wanted.bytes <= limits_.bytes_ahead &&
           ahead_ <= limits_.bytes_ahead - wanted.bytes;
  }

  /// The entry whose request this was; null when it has left the window.
  [[nodiscard]] entry* end_request(std::uint32_t shard) {
    if (const auto old = std::find(leaving_.begin(), leaving_.end(), shard);
        old != leaving_.end()) {
      leaving_.erase(old);
      --in_flight_;
      return nullptr;
    }
    const auto at = entries_.find(shard);
    if (at == entries_.end() || at->second.now != state::requested) return nullptr;
    --in_flight_;
    return &at->second;
  }

  void want_again(std::uint32_t shard, entry& known) {
    known.now = state::wanted;
    ahead_ -= known.bytes;
    const auto first = std::find_if(needs_.begin(), needs_.end(),
                                    [shard](const place_of& n) { return n.shard == shard; });
    asked_ = std::min(asked_, static_cast<std::size_t>(first - needs_.begin()));
  }

  prefetch_limits limits_;
  std::deque<place_of> needs_;
  std::unordered_map<std::uint32_t, entry> entries_;
  std::vector<std::uint32_t> leaving_;  // requested, and out of the window since
  std::size_t asked_ = 0;               // needs at the front that were looked at
  std::size_t in_flight_ = 0;
  std::uint64_t ahead_ = 0;
  bool blocked_ = false;
};

}  // namespace mdstream::inline v0
