#pragma once

/// Which sequence goes into which row: pure, and the same wherever the same sequences come in the
/// same groups.

#include <mdstream/collate/plan.hpp>
#include <mdstream/collate/rows.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace mdstream::inline v0::collate::detail {

struct packing_rules {
  std::uint64_t row = 0;    ///< elements of a row, at least 1
  std::uint64_t group = 0;  ///< samples that are packed together; 0: all
  truncation longer = truncation::error;
};

/// Packs sequences of these lengths and returns the number of rows; `out` gets the segments in the
/// order of the block. Groups share no row. Sequences without elements have no segment; of those
/// that are too long, `error` and `truncate` take the first row's worth. `samples`: of which sample
/// each sequence is, ascending, where there is not one of each; groups count samples.
std::uint64_t pack_rows(std::span<const std::uint64_t> lengths, const packing_rules& rules,
                        std::vector<pack_segment>& out,
                        std::span<const std::uint64_t> samples = {});

}  // namespace mdstream::inline v0::collate::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/collate/detail/impl/packing.ipp>
#endif
