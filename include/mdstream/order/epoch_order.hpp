#pragma once

/// The order of one epoch: a position in it has one sample id, on every rank and at any time.

#include <mdstream/core/error.hpp>
#include <mdstream/order/detail/sequence.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace mdstream::inline v0 {

/// How the samples of a global batch were dealt to the ranks that the partition was made for: one
/// after another, node after node and then rank after rank of each. What every world agrees on is
/// the order before dealing, the canonical one. By default the positions are it.
struct batch_deal {
  std::uint64_t nodes = 1;
  std::uint64_t ranks_per_node = 1;
  std::uint64_t batch_size = 0;  ///< samples of a rank; 0: they were not dealt

  /// The place in the canonical order of the global batch of its sample at `position`.
  [[nodiscard]] constexpr std::uint64_t place(std::uint64_t position) const noexcept {
    if (batch_size == 0) return position;
    const std::uint64_t rank = position / batch_size, i = position % batch_size;
    return (i * ranks_per_node + rank % ranks_per_node) * nodes + rank / ranks_per_node;
  }
};

/// Sample ids of an epoch by position in the global order: batch after batch, and within a global
/// batch rank after rank. Batch t of rank r is the `batch_size` positions from
/// `t * global_batch_size() + r * batch_size`. Ids number the samples of all streams one after
/// another; -1 is padding. What a resumed run has had already is not part of it: position 0 comes
/// next.
///
/// Reading forward costs tens of nanoseconds a position, a jump some milliseconds with the windowed
/// shufflers: readers that are far apart (one that prefetches, one that delivers) take a copy each.
/// A copy shares what was computed once for the epoch. All const members may be called from any
/// thread.
///
///     std::vector<std::int64_t> ids(order.global_batch_size());
///     order.ids(0, ids);  // of the first global batch
class epoch_order {
 public:
  epoch_order() : epoch_order(detail::any_sequence{}, 1) {}
  /// Of `filled` global batches, behind which all is padding; by default of all.
  epoch_order(detail::any_sequence positions, std::uint64_t global_batch_size, batch_deal deal = {},
              std::optional<std::uint64_t> filled = {})
      : size_(positions.size()),
        filled_(filled.value_or(size_ / global_batch_size)),
        global_batch_size_(global_batch_size),
        deal_(deal),
        reader_(std::make_unique<reader>(std::move(positions))) {}

  epoch_order(const epoch_order& other)
      : size_(other.size_),
        filled_(other.filled_),
        global_batch_size_(other.global_batch_size_),
        deal_(other.deal_),
        reader_(other.copy()) {}
  epoch_order(epoch_order&&) noexcept = default;
  epoch_order& operator=(epoch_order other) noexcept {
    size_ = other.size_;
    filled_ = other.filled_;
    global_batch_size_ = other.global_batch_size_;
    deal_ = other.deal_;
    reader_ = std::move(other.reader_);
    return *this;
  }
  ~epoch_order() = default;

  /// Positions, padding included: a multiple of the global batch size.
  [[nodiscard]] std::uint64_t positions() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t global_batches() const noexcept { return size_ / global_batch_size_; }
  /// Those that have a sample, on any rank; they come first.
  [[nodiscard]] std::uint64_t filled_batches() const noexcept { return filled_; }
  [[nodiscard]] std::uint64_t global_batch_size() const noexcept { return global_batch_size_; }

  /// From positions in a global batch to its canonical order.
  [[nodiscard]] const batch_deal& deal() const noexcept { return deal_; }

  /// Writes the ids of positions first … first + out.size() - 1. Throws `errc::out_of_range` where
  /// they go beyond the end.
  void ids(std::uint64_t first, std::span<std::int64_t> out) const {
    if (first > size_ || out.size() > size_ - first)
      throw error(errc::out_of_range, "positions " + std::to_string(first) + " to " +
                                          std::to_string(first + out.size()) +
                                          " of an epoch order of " + std::to_string(size_));
    const std::lock_guard lock(reader_->mutex);
    reader_->sequence.read(first, out);
  }

 private:
  struct reader {
    explicit reader(detail::any_sequence positions) : sequence(std::move(positions)) {}
    std::mutex mutex;
    detail::any_sequence sequence;
  };

  [[nodiscard]] std::unique_ptr<reader> copy() const {
    const std::lock_guard lock(reader_->mutex);
    return std::make_unique<reader>(reader_->sequence);
  }

  std::uint64_t size_;
  std::uint64_t filled_;
  std::uint64_t global_batch_size_;
  batch_deal deal_;
  std::unique_ptr<reader> reader_;
};

}  // namespace mdstream::inline v0
