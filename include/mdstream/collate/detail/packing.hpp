#pragma once

/// Which sequence goes into which row: pure, and the same wherever the same sequences come in the
/// same groups.

#include <mdstream/collate/plan.hpp>
#include <mdstream/collate/rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

namespace mdstream::inline v0::collate::detail {

struct packing_rules {
  std::uint64_t row = 0;    ///< elements of a row, at least 1
  std::uint64_t group = 0;  ///< samples that are packed together; 0: all
  truncation longer = truncation::error;
};

/// Best fit, longest first: each piece goes into the fullest row of its group that has room for it,
/// the earlier one of two, or begins a row. Pieces of one length keep the order of their samples.
/// O(pieces x rows of the group).
class group_packer {
 public:
  group_packer(const packing_rules& rules, std::vector<pack_segment>& out)
      : rules_(rules), out_(out) {}

  /// Adds a sample's sequence to the group at hand.
  void add(std::uint64_t sample, std::uint64_t length) {
    std::uint64_t first = 0;
    do {
      const std::uint64_t piece = std::min(length - first, rules_.row);
      if (piece != 0) pieces_.push_back({.sample = sample, .first = first, .length = piece});
      first += piece;
    } while (rules_.longer == truncation::split && first < length);
  }

  /// Packs the group at hand behind those before it.
  void close() {
    // The longest first, and of equally long ones the earlier.
    std::ranges::sort(pieces_, [](const pack_segment& a, const pack_segment& b) {
      return std::tie(b.length, a.sample, a.first) < std::tie(a.length, b.sample, b.first);
    });
    used_.clear();
    for (pack_segment& piece : pieces_) {
      const std::size_t row = row_for(piece.length);
      piece.at = (rows_ + row) * rules_.row + used_[row];
      used_[row] += piece.length;
    }
    std::ranges::sort(pieces_, {}, &pack_segment::at);
    out_.insert(out_.end(), pieces_.begin(), pieces_.end());
    pieces_.clear();
    rows_ += used_.size();
  }

  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

 private:
  [[nodiscard]] std::size_t row_for(std::uint64_t length) {
    std::size_t best = used_.size();
    for (std::size_t row = 0; row < used_.size(); ++row)
      if (length <= rules_.row - used_[row] && (best == used_.size() || used_[row] > used_[best]))
        best = row;
    if (best == used_.size()) used_.push_back(0);
    return best;
  }

  const packing_rules& rules_;
  std::vector<pack_segment>& out_;
  std::vector<pack_segment> pieces_;
  std::vector<std::uint64_t> used_;
  std::uint64_t rows_ = 0;  // of the groups before
};

/// Packs sequences of these lengths and returns the number of rows; `out` gets the segments in the
/// order of the block. Groups share no row. Sequences without elements have no segment; of those
/// that are too long, `error` and `truncate` take the first row's worth. `samples`: of which sample
/// each sequence is, ascending, where there is not one of each; groups count samples.
inline std::uint64_t pack_rows(std::span<const std::uint64_t> lengths, const packing_rules& rules,
                               std::vector<pack_segment>& out,
                               std::span<const std::uint64_t> samples = {}) {
  out.clear();
  const auto group_of = [&](std::uint64_t i) {
    return rules.group == 0 ? 0 : (samples.empty() ? i : samples[i]) / rules.group;
  };
  detail::group_packer packer(rules, out);
  for (std::uint64_t i = 0; i < lengths.size(); ++i) {
    if (i != 0 && group_of(i) != group_of(i - 1)) packer.close();
    packer.add(i, lengths[i]);
  }
  packer.close();
  return packer.rows();
}

}  // namespace mdstream::inline v0::collate::detail
