#pragma once

/// The batches of a rank as the order of an epoch has them, one after another. Pure: no I/O, no
/// threads, no clock.

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

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
  std::vector<std::int64_t> ids;           ///< this rank's samples; -1: a copy, as padding
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
  /// Where the last global batch of the order is padded, copies of its last sample are read, with
  /// -1 for their id; otherwise batches are shorter there. With `in_stretches`, which deals what
  /// there is, a rank for which nothing is left reads one.
  bool pads = false;
  /// Global batches to read; the rest of the order is left out.
  std::uint64_t most_batches = std::numeric_limits<std::uint64_t>::max();
};

/// Not thread-safe. Memory: 8 bytes a shard, and the ids of a node's batch.
class batch_reader {
 public:
  /// `locate` has to outlive this object. `position` is this rank's, in the world that the order
  /// was made for.
  batch_reader(const shard_locator& locate, std::size_t shards, epoch_order order,
               const world& position, std::uint64_t batch_size, lookahead_rules rules = {});

  /// Reads the next batch, into memory that is used again; no need has a following one yet. False,
  /// and nothing is read, at the end of the epoch.
  bool read(upcoming_batch& into);

  /// Batches of the epoch.
  [[nodiscard]] std::uint64_t batches() const noexcept { return batches_; }

  /// Samples that are read for one batch: those of the node.
  [[nodiscard]] std::uint64_t samples_read() const noexcept;

 private:
  /// This node's samples of the next batch, rank after rank.
  void read_node();

  /// The last sample of the next global batch; -1 if all of it is padding.
  [[nodiscard]] std::int64_t last_of_batch();

  /// The same of the next batch in canonical order. In the last one, which padding may have cut
  /// short, every rank still gets its part.
  void read_stretches();

  void fill(upcoming_batch& batch);

  void note_all(upcoming_batch& batch, std::span<const std::int64_t> ids);

  void note(upcoming_batch& batch, std::uint32_t shard);

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
  std::int64_t padding_ = -1;      // what is read in the place of padding; -1: nothing
  std::uint64_t first_place_ = 0;  // of this rank's first sample, within the global batch
  std::vector<std::int64_t> batch_ids_, canonical_ids_;  // where batches are dealt in stretches
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/batch_reader.ipp>
#endif
