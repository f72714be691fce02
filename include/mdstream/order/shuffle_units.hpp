#pragma once

/// The samples of an epoch before they are shuffled.

#include <mdstream/order/detail/shard_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {
struct drawn_part;
class resampler;
}  // namespace detail

/// The samples of an epoch in the order of the dataset, as a shuffler gets them.
///
/// They are in units: whole shards, and parts of shards that were chosen in part. A shard that is
/// read several times is as many units. Unit u has positions begin(u) to end(u) - 1 of the order of
/// the dataset.
/// Lifetime: a value, immutable; copies share their tables.
/// Thread safety: any number of threads may call const members.
/// Cost: O(units) memory; none if every shard is read once. `read` and `fill` take O(out) time, and
/// for a part of a shard O(samples of the shard) more.
///
///     std::vector<std::int64_t> ids(task.units.size());
///     task.units.read(0, ids);                 // the epoch without a shuffle
class shuffle_units {
 public:
  shuffle_units() = default;
  /// Every one of the shards first_shard … last_shard - 1 once.
  shuffle_units(std::shared_ptr<const detail::shard_table> table, std::size_t first_shard,
                std::size_t last_shard)
      : table_(std::move(table)),
        first_(first_shard),
        units_(last_shard - first_shard),
        size_(table_->begin(last_shard) - table_->begin(first_shard)) {}

  /// Samples of all units.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// The number of units.
  [[nodiscard]] std::size_t units() const noexcept { return units_; }
  /// The first position of a unit. Precondition: `unit <= units()`.
  [[nodiscard]] std::uint64_t begin(std::size_t unit) const {
    return own_ ? own_->begin[unit] : table_->begin(first_ + unit) - table_->begin(first_);
  }
  /// The position after the last of a unit. Precondition: `unit < units()`.
  [[nodiscard]] std::uint64_t end(std::size_t unit) const { return begin(unit + 1); }

  /// First sample id of a unit that is a whole shard, whose ids follow one another; -1 for a part.
  [[nodiscard]] std::int64_t whole_shard(std::size_t unit) const {
    if (!own_) return static_cast<std::int64_t>(table_->begin(first_ + unit));
    const unit_source& from = own_->source[unit];
    return from.part == whole ? static_cast<std::int64_t>(from.base) : -1;
  }

  /// Writes the sample ids at positions first … first + out.size() - 1. Precondition: they are
  /// below `size()`.
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    for (std::size_t unit = unit_of(first); !out.empty(); ++unit) {
      const auto count = std::min<std::uint64_t>(out.size(), end(unit) - first);
      fill(unit, first - begin(unit), out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }

  /// Writes the sample ids of one unit, from its `offset`-th sample on. Precondition: the unit has
  /// that many.
  void fill(std::size_t unit, std::uint64_t offset, std::span<std::int64_t> out) const {
    const std::int64_t base = whole_shard(unit);
    if (base < 0) return fill_part(unit, offset, out);
    std::iota(out.begin(), out.end(), base + static_cast<std::int64_t>(offset));
  }

  /// Samples of each group of units, grouped as the shards are.
  [[nodiscard]] std::vector<std::uint64_t> group_sums() const {
    if (!own_) return table_->group_sums(first_, first_ + units_);
    return detail::shard_table::sum_of_groups(units_,
                                              [this](std::size_t u) { return end(u) - begin(u); });
  }

  /// The unit that holds a position. O(log units).
  [[nodiscard]] std::size_t unit_of(std::uint64_t position) const {
    std::size_t low = 0, high = units_;
    while (high - low > 1) {
      const std::size_t mid = low + (high - low) / 2;
      (begin(mid) <= position ? low : high) = mid;
    }
    return low;
  }

 private:
  friend class detail::resampler;
  static constexpr std::uint32_t whole = ~std::uint32_t{0};

  struct unit_source {
    std::uint64_t base;          ///< first sample id of the shard
    std::uint32_t part = whole;  ///< where in `parts`, for a part of a shard
  };
  struct content {
    std::uint64_t seed = 0;
    std::vector<std::uint64_t> begin{0};
    std::vector<unit_source> source{};
    std::vector<detail::drawn_part> parts;
  };

  void fill_part(std::size_t unit, std::uint64_t offset, std::span<std::int64_t> out) const;

  std::shared_ptr<const detail::shard_table> table_;
  std::shared_ptr<const content> own_;
  std::size_t first_ = 0;
  std::size_t units_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/order/detail/impl/shuffle_units.ipp>
#endif
