#pragma once

/// Sequences put together from rows of other sequences: how global batches are made of streams.

#include <mdstream/order/detail/sequence.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace mdstream::inline v0::detail {

/// Row t is share[0] ids of the first part, share[1] of the second, …: every row has the same mix.
class side_by_side {
 public:
  side_by_side(std::vector<any_sequence> parts, std::vector<std::uint64_t> share,
               std::uint64_t rows)
      : parts_(std::move(parts)), share_(std::move(share)), rows_(rows) {
    for (const std::uint64_t s : share_) width_ += s;
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return rows_ * width_; }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    while (!out.empty()) {
      const std::uint64_t row = first / width_;
      std::uint64_t offset = first % width_;
      std::size_t k = 0;
      for (; offset >= share_[k]; ++k) offset -= share_[k];
      const auto count = std::min<std::uint64_t>(out.size(), share_[k] - offset);
      parts_[k].read(row * share_[k] + offset, out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }

 private:
  std::vector<any_sequence> parts_;
  std::vector<std::uint64_t> share_;
  std::uint64_t rows_;
  std::uint64_t width_ = 0;
};

/// Rows of equal width, each the next unused row of one of the parts. 12 bytes a row.
class interleaved {
 public:
  interleaved(std::vector<any_sequence> parts, std::uint64_t width)
      : parts_(std::move(parts)), used_(parts_.size()), width_(width) {}

  void add_row_of(std::size_t part) {
    rows_.push_back({used_[part]++, part});
    filled_ = size();
  }
  void add_padding_row() { rows_.push_back({0, padding}); }

  [[nodiscard]] std::uint64_t size() const noexcept { return rows_.size() * width_; }
  /// Ids in front of the last padding rows.
  [[nodiscard]] std::uint64_t filled() const noexcept { return filled_; }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    while (!out.empty()) {
      const row& r = rows_[first / width_];
      const std::uint64_t offset = first % width_;
      const auto count = std::min<std::uint64_t>(out.size(), width_ - offset);
      if (r.part == padding)
        std::fill_n(out.begin(), count, std::int64_t{-1});
      else
        parts_[r.part].read(r.number * width_ + offset, out.first(count));
      out = out.subspan(count);
      first += count;
    }
  }

 private:
  static constexpr std::size_t padding = ~std::size_t{0};
  struct row {
    std::uint64_t number;  ///< among the rows of its part
    std::size_t part;
  };

  std::vector<any_sequence> parts_;
  std::vector<std::uint64_t> used_;
  std::vector<row> rows_{};
  std::uint64_t width_;
  std::uint64_t filled_ = 0;
};

/// What is left of a sequence after its first `skip` ids, filled with -1 up to `size`.
class resumed {
 public:
  resumed(any_sequence whole, std::uint64_t skip, std::uint64_t size)
      : whole_(std::move(whole)), skip_(skip), left_(whole_.size() - skip), size_(size) {}

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  void read(std::uint64_t first, std::span<std::int64_t> out) {
    const auto real = static_cast<std::size_t>(
        std::min<std::uint64_t>(out.size(), left_ - std::min(left_, first)));
    whole_.read(skip_ + first, out.first(real));
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(real), out.end(), std::int64_t{-1});
  }

 private:
  any_sequence whole_;
  std::uint64_t skip_;
  std::uint64_t left_;
  std::uint64_t size_;
};

}  // namespace mdstream::inline v0::detail
