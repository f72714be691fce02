#pragma once

/// The batches that a rank reads next, and when each shard is needed next: what delivery, prefetch
/// and eviction all go by. Pure: no I/O, no threads, no clock.

#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/stream/shard_locator.hpp>
#include <mdstream/stream/substitutions.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// One batch of this rank, and the shards behind it.
struct upcoming_batch {
  /// A shard of the batch, and the number of the next later batch that needs it: `never`, if there
  /// is none as far as the lookahead reaches.
  struct need {
    std::uint32_t shard = 0;
    std::uint32_t following_slot = 0;  ///< among the needs of that batch
    std::uint64_t following = never;
  };

  std::uint64_t number = 0;                ///< of the global batch, from where the epoch was begun
  std::vector<std::int64_t> ids;           ///< this rank's samples, padding left out
  std::vector<sample_location> locations;  ///< of `ids`
  std::vector<std::uint64_t> places;       ///< of `ids` in the canonical order of the global batch
  std::vector<need> needs;                 ///< distinct shards: this rank's, then those of its node
  std::size_t own_needs = 0;               ///< how many of `needs` are this rank's
};

/// What is read of an order.
struct lookahead_rules {
  /// The samples of a global batch are dealt to the ranks in stretches of its canonical order, for
  /// what is done with neighbours; otherwise as in Python. Every rank then reads all of them.
  bool in_stretches = false;
  /// `upcoming_batch::places` are wanted.
  bool places = false;
  /// Global batches to read; the rest of the order is left out.
  std::uint64_t most_batches = std::numeric_limits<std::uint64_t>::max();
};

/// A queue of batches in the order of an epoch. Not thread-safe.
///
/// For eviction all ranks of the node count: they share the cache directory and walk the epoch
/// together. Memory: 24 bytes a shard, and for each sample ahead its id, its location and at most
/// one need.
class lookahead {
 public:
  /// `locate` has to outlive this object. `position` is this rank's, in the world that the order
  /// was made for.
  lookahead(const shard_locator& locate, std::size_t shards, epoch_order order,
            const world& position, std::uint64_t batch_size, lookahead_rules rules = {},
            substitutions bad = {})
      : locate_(&locate),
        order_(std::move(order)),
        rules_(rules),
        bad_(std::move(bad)),
        position_(position),
        batch_size_(batch_size),
        batches_to_read_(std::min(order_.global_batches(), rules.most_batches)),
        first_use_(shards, never),
        first_slot_(shards),
        last_use_(shards),
        last_slot_(shards) {}

  /// Reads one further batch. False, and nothing is read, at the end of the epoch.
  bool extend() {
    if (next_ == batches_to_read_) return false;
    upcoming_batch batch = recycled();
    batch.number = next_;
    if (rules_.in_stretches)
      read_stretches();
    else
      read_node();
    ++next_;
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
  [[nodiscard]] upcoming_batch recycled() noexcept {
    upcoming_batch batch = std::exchange(spare_, {});
    batch.ids.clear();
    batch.locations.clear();
    batch.places.clear();
    batch.needs.clear();
    return batch;
  }

  /// This node's samples of the next batch, rank after rank.
  void read_node() {
    node_ids_.resize(position_.ranks_per_node * batch_size_);
    const std::uint64_t first = position_.node() * position_.ranks_per_node * batch_size_;
    order_.ids(next_ * order_.global_batch_size() + first, node_ids_);
    own_first_ = position_.rank_of_node() * batch_size_;
    own_samples_ = batch_size_;
    first_place_ = first + own_first_;
  }

  /// The same of the next batch in canonical order. In the last one, which padding may have cut
  /// short, every rank still gets its part.
  void read_stretches() {
    const std::uint64_t samples = order_.global_batch_size();
    batch_ids_.resize(samples);
    order_.ids(next_ * samples, batch_ids_);
    canonical_ids_.assign(samples, -1);
    for (std::uint64_t i = 0; i < samples; ++i)
      canonical_ids_[order_.deal().place(i)] = batch_ids_[i];
    std::erase_if(canonical_ids_, [](std::int64_t id) { return id < 0; });
    const auto begin_of = [this](std::uint64_t rank) {
      return rank * canonical_ids_.size() / position_.num_ranks();
    };
    const std::uint64_t first_rank = position_.node() * position_.ranks_per_node;
    const std::uint64_t first = begin_of(first_rank);
    const std::uint64_t end = begin_of(first_rank + position_.ranks_per_node);
    node_ids_.assign(canonical_ids_.begin() + static_cast<std::ptrdiff_t>(first),
                     canonical_ids_.begin() + static_cast<std::ptrdiff_t>(end));
    first_place_ = begin_of(position_.rank);
    own_first_ = first_place_ - first;
    own_samples_ = begin_of(position_.rank + 1) - first_place_;
  }

  std::uint64_t fill(upcoming_batch& batch) {
    const std::span ids(node_ids_);
    std::uint64_t position = first_place_;
    for (const std::int64_t id : ids.subspan(own_first_, own_samples_)) {
      const std::uint64_t at = position++;
      if (id < 0) continue;  // padding
      const sample_location meant = (*locate_)(static_cast<std::uint64_t>(id));
      const sample_location location = bad_.empty() ? meant : bad_(meant, *locate_);
      batch.ids.push_back(location == meant ? id : id_of(location));
      batch.locations.push_back(location);
      if (rules_.places) batch.places.push_back(rules_.in_stretches ? at : order_.deal().place(at));
      note(batch, location.shard);
    }
    batch.own_needs = batch.needs.size();
    note_others(batch, ids.first(own_first_));
    note_others(batch, ids.subspan(own_first_ + own_samples_));
    return batch.ids.size();
  }

  void note_others(upcoming_batch& batch, std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      if (id >= 0) note(batch, bad_((*locate_)(static_cast<std::uint64_t>(id)).shard));
  }

  [[nodiscard]] std::int64_t id_of(sample_location at) const noexcept {
    return static_cast<std::int64_t>(locate_->first_sample(at.shard) + at.index);
  }

  /// Reads a batch of the queue anew, after those before it.
  void replace(upcoming_batch& batch) {
    std::vector<upcoming_batch::need> others(
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

  // The last need of a shard is found again through its batch number and slot, so that it can be
  // linked to the next one without a search.
  void note(upcoming_batch& batch, std::uint32_t shard) {
    const auto slot = static_cast<std::uint32_t>(batch.needs.size());
    if (first_use_[shard] == never) {
      first_use_[shard] = batch.number;
      first_slot_[shard] = slot;
    } else if (last_use_[shard] == batch.number) {
      return;
    } else {
      const std::uint64_t ahead = last_use_[shard] - batches_.front().number;
      upcoming_batch::need& before = batches_[ahead].needs[last_slot_[shard]];
      before.following = batch.number;
      before.following_slot = slot;
    }
    last_use_[shard] = batch.number;
    last_slot_[shard] = slot;
    batch.needs.push_back({.shard = shard});
  }

  const shard_locator* locate_;
  epoch_order order_;
  lookahead_rules rules_;
  substitutions bad_;
  world position_;
  std::uint64_t batch_size_;
  std::uint64_t batches_to_read_;
  std::vector<std::uint64_t> first_use_;
  std::vector<std::uint32_t> first_slot_;
  std::vector<std::uint64_t> last_use_;
  std::vector<std::uint32_t> last_slot_;
  std::deque<upcoming_batch> batches_;
  std::vector<std::int64_t> node_ids_;  // of the batch that is being read
  std::uint64_t own_first_ = 0;         // of this rank, within the node's
  std::uint64_t own_samples_ = 0;
  std::uint64_t first_place_ = 0;  // of this rank's first sample, within the global batch
  std::vector<std::int64_t> batch_ids_, canonical_ids_;  // where batches are dealt in stretches
  upcoming_batch spare_;
  std::uint64_t next_ = 0;
  std::uint64_t samples_ahead_ = 0;
};

}  // namespace mdstream::inline v0
