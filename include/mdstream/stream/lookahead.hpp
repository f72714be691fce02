#pragma once

/// The batches that a rank reads next, and when each shard is needed next: what delivery, prefetch
/// and eviction all go by. Pure: no I/O, no threads, no clock.

#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/stream/shard_locator.hpp>

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// "Not needed again, as far as the lookahead reaches."
inline constexpr std::uint64_t never_needed = std::numeric_limits<std::uint64_t>::max();

/// One batch of this rank, and the shards behind it.
struct upcoming_batch {
  /// A shard of the batch, and the number of the next later batch that needs it.
  struct need {
    std::uint32_t shard = 0;
    std::uint64_t following = never_needed;
  };

  std::uint64_t number = 0;                ///< of the global batch, from where the epoch was begun
  std::vector<std::int64_t> ids;           ///< this rank's samples, padding left out
  std::vector<sample_location> locations;  ///< of `ids`
  std::vector<need> needs;                 ///< distinct shards: this rank's, then those of its node
  std::size_t own_needs = 0;               ///< how many of `needs` are this rank's
};

/// A queue of batches in the order of an epoch. Not thread-safe.
///
/// For eviction all ranks of the node count: they share the cache directory and walk the epoch
/// together. Memory: 20 bytes a shard, and for each sample ahead its id, its location and at most
/// one need.
class lookahead {
 public:
  /// `locate` has to outlive this object. `position` is this rank's, in the world that the order
  /// was made for.
  lookahead(const shard_locator& locate, std::size_t shards, epoch_order order,
            const world& position, std::uint64_t batch_size)
      : locate_(&locate),
        order_(std::move(order)),
        batch_size_(batch_size),
        node_first_(position.node() * position.ranks_per_node * batch_size),
        node_samples_(position.ranks_per_node * batch_size),
        own_first_(position.rank_of_node() * batch_size),
        first_use_(shards, never_needed),
        last_use_(shards),
        last_slot_(shards) {}

  /// Reads one further batch. False, and nothing is read, at the end of the epoch.
  bool extend() {
    if (next_ == order_.global_batches()) return false;
    node_ids_.resize(node_samples_);
    order_.ids(next_ * order_.global_batch_size() + node_first_, node_ids_);
    upcoming_batch batch = recycled();
    batch.number = next_++;
    samples_ahead_ += fill(batch);
    batches_.push_back(std::move(batch));
    return true;
  }

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
    for (const upcoming_batch::need& need : batch.needs) first_use_[need.shard] = need.following;
    samples_ahead_ -= batch.ids.size();
    spare_ = std::move(batch);
    batches_.pop_front();
  }

  /// Number of the first batch in the queue that needs the shard on this node, or `never_needed`.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const noexcept {
    return first_use_[shard];
  }

 private:
  [[nodiscard]] upcoming_batch recycled() noexcept {
    upcoming_batch batch = std::exchange(spare_, {});
    batch.ids.clear();
    batch.locations.clear();
    batch.needs.clear();
    return batch;
  }

  std::uint64_t fill(upcoming_batch& batch) {
    const std::span ids(node_ids_);
    for (const std::int64_t id : ids.subspan(own_first_, batch_size_)) {
      if (id < 0) continue;  // padding
      const sample_location location = (*locate_)(static_cast<std::uint64_t>(id));
      batch.ids.push_back(id);
      batch.locations.push_back(location);
      note(batch, location.shard);
    }
    batch.own_needs = batch.needs.size();
    note_others(batch, ids.first(own_first_));
    note_others(batch, ids.subspan(own_first_ + batch_size_));
    return batch.ids.size();
  }

  void note_others(upcoming_batch& batch, std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      if (id >= 0) note(batch, (*locate_)(static_cast<std::uint64_t>(id)).shard);
  }

  // The last need of a shard is found again through its batch number and slot, so that it can be
  // linked to the next one without a search.
  void note(upcoming_batch& batch, std::uint32_t shard) {
    if (first_use_[shard] == never_needed) {
      first_use_[shard] = batch.number;
    } else if (last_use_[shard] == batch.number) {
      return;
    } else {
      const std::uint64_t ahead = last_use_[shard] - batches_.front().number;
      batches_[ahead].needs[last_slot_[shard]].following = batch.number;
    }
    last_use_[shard] = batch.number;
    last_slot_[shard] = static_cast<std::uint32_t>(batch.needs.size());
    batch.needs.push_back({.shard = shard});
  }

  const shard_locator* locate_;
  epoch_order order_;
  std::uint64_t batch_size_;
  std::uint64_t node_first_;    // of a global batch, where this node's samples begin
  std::uint64_t node_samples_;  // of a global batch
  std::uint64_t own_first_;     // within the node's samples
  std::vector<std::uint64_t> first_use_;
  std::vector<std::uint64_t> last_use_;
  std::vector<std::uint32_t> last_slot_;
  std::deque<upcoming_batch> batches_;
  std::vector<std::int64_t> node_ids_;
  upcoming_batch spare_;
  std::uint64_t next_ = 0;
  std::uint64_t samples_ahead_ = 0;
};

}  // namespace mdstream::inline v0
