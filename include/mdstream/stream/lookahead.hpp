#pragma once

/// The batches that a rank reads next, and when each shard is needed next: what delivery, prefetch
/// and eviction all go by. Pure, but that an executor may read the order ahead: no I/O, no clock.

#include <mdstream/core/pages.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/stream/batch_reader.hpp>
#include <mdstream/stream/read_ahead.hpp>
#include <mdstream/stream/shard_locator.hpp>
#include <mdstream/stream/substitutions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A queue of batches in the order of an epoch. Not thread-safe.
///
/// For eviction all ranks of the node count: they share the cache directory and walk the epoch
/// together. Memory: 32 bytes a shard, and for each sample ahead its id, its location and at most
/// one need.
class lookahead {
 public:
  /// `locate` has to outlive this object. `position` is this rank's, in the world that the order
  /// was made for. `elsewhere`: see `read_ahead`.
  lookahead(const shard_locator& locate, std::size_t shards, epoch_order order,
            const world& position, std::uint64_t batch_size, lookahead_rules rules = {},
            substitutions bad = {}, read_ahead::executor elsewhere = {})
      : locate_(&locate),
        order_(batch_reader(locate, shards, std::move(order), position, batch_size, rules),
               std::move(elsewhere)),
        bad_(std::move(bad)),
        first_use_(shards, never),
        first_slot_(shards),
        last_use_(shards),
        last_slot_(shards) {}

  /// Reads one further batch. False, and nothing is read, at the end of the epoch.
  bool extend() {
    if (!order_.read(spare_)) return false;
    if (bad_.empty())
      for (std::size_t slot = 0; slot < spare_.needs.size(); ++slot) link(spare_, slot);
    else
      replace(spare_);
    samples_ahead_ += spare_.ids.size();
    read_ = spare_.number + 1;
    batches_.push_back(std::move(spare_));
    return true;
  }

  /// Batches of the epoch, and those of them that were not read yet.
  [[nodiscard]] std::uint64_t of_epoch() const noexcept { return order_.batches(); }
  [[nodiscard]] std::uint64_t unread() const noexcept { return order_.batches() - read_; }

  [[nodiscard]] bool empty() const noexcept { return batches_.empty(); }
  [[nodiscard]] std::size_t batches() const noexcept { return batches_.size(); }
  /// This rank's samples in all batches of the queue.
  [[nodiscard]] std::uint64_t samples_ahead() const noexcept { return samples_ahead_; }
  [[nodiscard]] const upcoming_batch& operator[](std::size_t i) const noexcept {
    return batches_[i];
  }
  [[nodiscard]] const upcoming_batch& front() const noexcept { return batches_.front(); }

  /// Leaves the first batch behind. Precondition: not empty.
  void pop_front() {
    upcoming_batch& batch = batches_.front();
    for (const upcoming_batch::need& need : batch.needs) {
      first_use_[need.shard] = need.following;
      first_slot_[need.shard] = need.following_slot;
    }
    samples_ahead_ -= batch.ids.size();
    spare_ = std::move(batch);
    batches_.pop_front();
  }

  /// Number of the first batch in the queue that needs the shard on this node, or `never`.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const noexcept {
    return first_use_[shard];
  }
  /// The same at or after batch `from`. O(uses before it).
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const noexcept {
    std::uint64_t use = first_use_[shard];
    std::uint32_t slot = first_slot_[shard];
    while (use < from) {
      const upcoming_batch::need& need = batches_[use - batches_.front().number].needs[slot];
      use = need.following;
      slot = need.following_slot;
    }
    return use;
  }

  /// Reads other shards in place of this one from here on, in the batches of the queue too. Throws,
  /// and changes nothing, as `substitutions::add`. O(samples ahead).
  void exclude(std::uint32_t shard) {
    bad_.add(shard);
    std::ranges::fill(first_use_, never);
    for (upcoming_batch& batch : batches_) replace(batch);
  }
  [[nodiscard]] const substitutions& excluded() const noexcept { return bad_; }

 private:
  [[nodiscard]] std::int64_t id_of(sample_location at) const noexcept {
    return static_cast<std::int64_t>(locate_->first_sample(at.shard) + at.index);
  }

  /// Puts what is read for bad shards in their place, after the batches before this one.
  void replace(upcoming_batch& batch) {
    const std::vector<upcoming_batch::need> others(
        batch.needs.begin() + static_cast<std::ptrdiff_t>(batch.own_needs), batch.needs.end());
    batch.needs.clear();
    for (std::size_t i = 0; i < batch.ids.size(); ++i) {
      const sample_location now = bad_(batch.locations[i], *locate_);
      if (!(now == batch.locations[i])) batch.ids[i] = id_of(now);
      batch.locations[i] = now;
      note(batch, now.shard);
    }
    batch.own_needs = batch.needs.size();
    for (const upcoming_batch::need& other : others) note(batch, bad_(other.shard));
  }

  void note(upcoming_batch& batch, std::uint32_t shard) {
    if (first_use_[shard] != never && last_use_[shard] == batch.number) return;
    batch.needs.push_back({.shard = shard});
    link(batch, batch.needs.size() - 1);
  }

  // The last need of a shard is found again through its batch number and slot, so that it can be
  // linked to the next one without a search.
  void link(const upcoming_batch& batch, std::size_t of) {
    const std::uint32_t shard = batch.needs[of].shard;
    const auto slot = static_cast<std::uint32_t>(of);
    if (first_use_[shard] == never) {
      first_use_[shard] = batch.number;
      first_slot_[shard] = slot;
    } else {
      const std::uint64_t ahead = last_use_[shard] - batches_.front().number;
      upcoming_batch::need& before = batches_[ahead].needs[last_slot_[shard]];
      before.following = batch.number;
      before.following_slot = slot;
    }
    last_use_[shard] = batch.number;
    last_slot_[shard] = slot;
  }

  const shard_locator* locate_;
  read_ahead order_;
  substitutions bad_;
  large_vector<std::uint64_t> first_use_;
  large_vector<std::uint32_t> first_slot_;
  large_vector<std::uint64_t> last_use_;
  large_vector<std::uint32_t> last_slot_;
  std::deque<upcoming_batch> batches_;
  upcoming_batch spare_;  // its memory is used again
  std::uint64_t samples_ahead_ = 0;
  std::uint64_t read_ = 0;  // batches
};

}  // namespace mdstream::inline v0
