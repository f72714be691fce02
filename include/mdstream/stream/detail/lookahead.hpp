#pragma once

/// The batches that a rank reads next, and when each shard is needed next: what delivery, prefetch
/// and eviction all go by. Pure, but that an executor may read the order ahead: no I/O, no clock.

#include <mdstream/core/detail/pages.hpp>
#include <mdstream/order/epoch_order.hpp>
#include <mdstream/order/world.hpp>
#include <mdstream/stream/detail/batch_reader.hpp>
#include <mdstream/stream/detail/read_ahead.hpp>
#include <mdstream/stream/detail/shard_locator.hpp>
#include <mdstream/stream/detail/substitutions.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace mdstream::inline v0::detail {

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
            substitutions bad = {}, read_ahead::executor elsewhere = {});

  /// Reads one further batch. False, and nothing is read, at the end of the epoch.
  bool extend();

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
  void pop_front();

  /// Number of the first batch in the queue that needs the shard on this node, or `never`.
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard) const noexcept {
    return first_use_[shard];
  }
  /// The same at or after batch `from`. O(uses before it).
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const noexcept;

  /// Reads other shards in place of this one from here on, in the batches of the queue too. Throws,
  /// and changes nothing, as `substitutions::add`. O(samples ahead).
  void exclude(std::uint32_t shard);
  [[nodiscard]] const substitutions& excluded() const noexcept { return bad_; }

 private:
  [[nodiscard]] std::int64_t id_of(sample_location at) const noexcept;

  /// Puts what is read for bad shards in their place, after the batches before this one.
  void replace(upcoming_batch& batch);

  void note(upcoming_batch& batch, std::uint32_t shard);

  // The last need of a shard is found again through its batch number and slot, so that it can be
  // linked to the next one without a search.
  void link(const upcoming_batch& batch, std::size_t of);

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

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/lookahead.ipp>
#endif
