#pragma once

/// A shuffled sequence dealt out by a partition, readable from any position of the global order.

#include <mdstream/order/detail/check.hpp>
#include <mdstream/order/detail/partition.hpp>
#include <mdstream/order/detail/sequence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// The global order of a partition, or of some of its nodes: a model of `id_sequence`. Works
/// through the source in stretches of many batches, which it keeps: a position that is read again,
/// or one after the other, costs no second reading. O(stretch) memory.
class dealt_sequence {
 public:
  dealt_sequence(const partition& deal, any_sequence source)
      : dealt_sequence(deal, std::move(source), 0, deal.nodes()) {}
  /// Only the nodes first_node … last_node - 1: positions number their samples alone.
  dealt_sequence(const partition& deal, any_sequence source, std::uint64_t first_node,
                 std::uint64_t last_node)
      : deal_(deal), source_(std::move(source)), first_node_(first_node), last_node_(last_node) {
    if (deal.samples_per_rank() != 0 && source_.size() < deal.samples())
      detail::refuse("a partition of " + std::to_string(deal.samples()) +
                     " samples, of which sampling made only " + std::to_string(source_.size()));
  }

  [[nodiscard]] std::uint64_t size() const noexcept {
    return deal_.global_batches() * batch_positions();
  }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    while (!out.empty()) {
      if (first < loaded_begin_ || first >= loaded_begin_ + loaded_.size()) load(first);
      const auto at = static_cast<std::size_t>(first - loaded_begin_);
      const std::size_t count = std::min(out.size(), loaded_.size() - at);
      std::copy_n(loaded_.begin() + static_cast<std::ptrdiff_t>(at), count, out.begin());
      out = out.subspan(count);
      first += count;
    }
  }

 private:
  static constexpr std::uint64_t stretch = 1 << 16;

  /// What was read of one row: entries from `first` on.
  struct row_window {
    std::uint64_t first = 0;
    std::vector<std::int64_t> ids{};
  };
  struct interval {
    std::uint64_t low, high;
    void include(std::uint64_t x) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  };

  [[nodiscard]] std::uint64_t batch_positions() const noexcept {
    return (last_node_ - first_node_) * deal_.ranks() * deal_.batch_size();
  }

  void load(std::uint64_t position) {
    const std::uint64_t per_batch = batch_positions();
    const std::uint64_t first = position / per_batch;
    const std::uint64_t count =
        std::min(std::max<std::uint64_t>(stretch / per_batch, 1), deal_.global_batches() - first);
    loaded_begin_ = first * per_batch;
    loaded_.resize(count * per_batch);
    if (deal_.rows() == 1 && deal_.nodes() == 1 && deal_.ranks() == 1 && deal_.cut())
      return read_straight();
    read_rows(first, first + count);
    std::int64_t* out = loaded_.data();
    for (std::uint64_t batch = first; batch < first + count; ++batch)
      for (std::uint64_t node = first_node_; node < last_node_; ++node)
        for (std::uint64_t rank = 0; rank < deal_.ranks(); ++rank, out += deal_.batch_size())
          deal_batch(node, rank, batch * deal_.batch_size(), out);
  }

  /// One rank and one row: nothing is dealt.
  void read_straight() {
    const std::uint64_t all = deal_.samples_per_rank();
    const auto real = static_cast<std::size_t>(
        std::min<std::uint64_t>(all - std::min(all, loaded_begin_), loaded_.size()));
    source_.read(deal_.flat_of(0, 0) + loaded_begin_, std::span(loaded_).first(real));
    std::fill(loaded_.begin() + static_cast<std::ptrdiff_t>(real), loaded_.end(),
              partition::padding);
  }

  /// The i-th sample of a rank and those that follow in its batch: equal steps through the columns,
  /// up to the few at the end that are repeated or missing.
  void deal_batch(std::uint64_t node, std::uint64_t rank, std::uint64_t i,
                  std::int64_t* out) const {
    const std::uint64_t end = i + deal_.batch_size();
    const std::uint64_t own = deal_.places_per_node();
    const std::uint64_t plain_end =
        own > rank ? std::min(end, (own - rank + deal_.ranks() - 1) / deal_.ranks()) : 0;
    if (deal_.cut() && i < plain_end) {
      const std::uint64_t flat = deal_.flat_of(node, rank + i * deal_.ranks());
      const std::uint64_t step = deal_.nodes() * deal_.ranks();
      const std::uint64_t row_step = step % deal_.rows(), column_step = step / deal_.rows();
      std::uint64_t row = flat % deal_.rows(), column = flat / deal_.rows();
      for (; i < plain_end; ++i) {
        const row_window& window = rows_[row - first_row_];
        *out++ = window.ids[deal_.entry(row, column) - window.first];
        row += row_step;
        column += column_step;
        if (row >= deal_.rows()) {
          row -= deal_.rows();
          ++column;
        }
      }
    }
    for (; i < end; ++i) *out++ = at(node, rank, i);
  }

  [[nodiscard]] std::int64_t at(std::uint64_t node, std::uint64_t rank, std::uint64_t i) const {
    if (i >= deal_.samples_per_rank()) return partition::padding;
    const std::uint64_t flat = deal_.flat_of(node, rank + i * deal_.ranks());
    if (!deal_.cut()) return rows_[0].ids[deal_.place_of_flat(flat)];
    const row_window& window = rows_[flat % deal_.rows() - first_row_];
    return window.ids[deal_.entry(flat % deal_.rows(), flat / deal_.rows()) - window.first];
  }

  /// Reads of each row what the batches first … last - 1 need of it.
  void read_rows(std::uint64_t first, std::uint64_t last) {
    if (!deal_.cut()) return read_all();
    // A node's row is its own where there are as many of both: other rows are not touched then.
    const bool own_rows = deal_.rows() == deal_.nodes();
    first_row_ = own_rows ? first_node_ : 0;
    const std::uint64_t last_row = own_rows ? last_node_ : deal_.rows();
    rows_.resize(last_row - first_row_);
    const std::uint64_t begin = first * deal_.batch_size();
    const std::uint64_t end = std::min(last * deal_.batch_size(), deal_.samples_per_rank());
    if (begin >= end) return;
    const interval columns = columns_of(begin * deal_.ranks(), end * deal_.ranks());
    for (std::uint64_t row = first_row_; row < last_row; ++row)
      read_row(row, columns, rows_[row - first_row_]);
  }

  [[nodiscard]] interval columns_of(std::uint64_t first_q, std::uint64_t last_q) const {
    const std::uint64_t repeats_from = std::clamp(deal_.places_per_node(), first_q, last_q);
    interval q{deal_.repeated(first_q), deal_.repeated(first_q)};
    if (repeats_from > first_q) q.include(repeats_from - 1);
    for (std::uint64_t behind = repeats_from; behind < last_q; ++behind)
      q.include(deal_.repeated(behind));
    return {deal_.flat_of(first_node_, q.low) / deal_.rows(),
            deal_.flat_of(last_node_ - 1, q.high) / deal_.rows()};
  }

  void read_row(std::uint64_t row, const interval& columns, row_window& into) {
    interval entries{deal_.entry(row, columns.low), deal_.entry(row, columns.low)};
    entries.include(deal_.entry(row, columns.high));
    // The last columns repeat earlier entries, so the extremes may lie at the border between both.
    for (const std::uint64_t border : {deal_.filled_columns() - 1, deal_.filled_columns()})
      for (std::uint64_t column = border - std::min<std::uint64_t>(border, 1); column <= border;
           ++column)
        if (columns.low <= column && column <= columns.high)
          entries.include(deal_.entry(row, column));
    into.first = entries.low;
    into.ids.resize(entries.high - entries.low + 1);
    source_.read(deal_.row_begin(row) + entries.low, into.ids);
  }

  void read_all() {
    if (!rows_.empty()) return;
    rows_.resize(1);
    rows_[0].ids.resize(deal_.samples());
    source_.read(0, rows_[0].ids);
  }

  partition deal_;
  any_sequence source_;
  std::uint64_t first_node_;
  std::uint64_t last_node_;
  std::uint64_t first_row_ = 0;
  std::vector<row_window> rows_{};
  std::uint64_t loaded_begin_ = 0;
  std::vector<std::int64_t> loaded_{};
};

static_assert(id_sequence<dealt_sequence>);

}  // namespace mdstream::inline v0::detail
