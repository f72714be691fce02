#pragma once

/// The batches of a rank as the order of an epoch has them, one after another. Pure: no I/O, no
/// threads, no clock.

#include <mdstream/core/pages.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/schedule/eviction.hpp>
#include <mdstream/stream/shard_locator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Not thread-safe. Memory: 8 bytes a shard, and the ids of a node's batch.
class batch_reader {
 public:
  /// `locate` has to outlive this object. `position` is this rank's, in the world that the order
  /// was made for.
  batch_reader(const shard_locator& locate, std::size_t shards, epoch_order order,
               const world& position, std::uint64_t batch_size, lookahead_rules rules = {})
      : locate_(&locate),
        order_(std::move(order)),
        rules_(rules),
        position_(position),
        batch_size_(batch_size),
        batches_(std::min(order_.global_batches(), rules.most_batches)),
        seen_(shards) {}

  /// Reads the next batch, into memory that is used again; no need has a following one yet. False,
  /// and nothing is read, at the end of the epoch.
  bool read(upcoming_batch& into) {
    if (next_ == batches_) return false;
    into.number = next_;
    into.ids.clear();
    into.locations.clear();
    into.places.clear();
    into.needs.clear();
    if (rules_.in_stretches)
      read_stretches();
    else
      read_node();
    ++next_;
    fill(into);
    return true;
  }

  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// Samples that are read for one batch: those of the node.
  [[nodiscard]] std::uint64_t samples_read() const noexcept {
    return rules_.in_stretches ? order_.global_batch_size()
                               : position_.ranks_per_node * batch_size_;
  }

 private:
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

  void fill(upcoming_batch& batch) {
    const std::span ids(node_ids_);
    std::uint64_t position = first_place_;
    for (const std::int64_t id : ids.subspan(own_first_, own_samples_)) {
      const std::uint64_t at = position++;
      if (id < 0) continue;  // padding
      const sample_location location = (*locate_)(static_cast<std::uint64_t>(id));
      batch.ids.push_back(id);
      batch.locations.push_back(location);
      if (rules_.places) batch.places.push_back(rules_.in_stretches ? at : order_.deal().place(at));
      note(batch, location.shard);
    }
    batch.own_needs = batch.needs.size();
    note_all(batch, ids.first(own_first_));
    note_all(batch, ids.subspan(own_first_ + own_samples_));
  }

  void note_all(upcoming_batch& batch, std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      if (id >= 0) note(batch, (*locate_)(static_cast<std::uint64_t>(id)).shard);
  }

  void note(upcoming_batch& batch, std::uint32_t shard) {
    if (seen_[shard] == next_) return;  // which is one more than the batch's number
    seen_[shard] = next_;
    batch.needs.push_back({.shard = shard});
  }

  const shard_locator* locate_;
  epoch_order order_;
  lookahead_rules rules_;
  world position_;
  std::uint64_t batch_size_;
  std::uint64_t batches_;
  std::uint64_t next_ = 0;
  large_vector<std::uint64_t> seen_;    // of each shard, the number after the last batch with it
  std::vector<std::int64_t> node_ids_;  // of the batch that is being read
  std::uint64_t own_first_ = 0;         // of this rank, within the node's
  std::uint64_t own_samples_ = 0;
  std::uint64_t first_place_ = 0;  // of this rank's first sample, within the global batch
  std::vector<std::int64_t> batch_ids_, canonical_ids_;  // where batches are dealt in stretches
};

}  // namespace mdstream::inline v0
