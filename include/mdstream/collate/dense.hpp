#pragma once

/// The collator for samples of fixed size: every column is one block of equal elements. A dataset
/// with a column of variable size is refused, at compile time where the schema is known there.

#include <mdstream/collate/ragged.hpp>

namespace mdstream::inline v0::collate {

/// Collates columns of fixed size to one dense array a column, shape `{samples, extents...}`;
/// refuses columns whose values vary in size.
///
/// Errors: with a schema, the compiler refuses a column of variable size. Without one, opening the
/// loader throws `errc::unsupported`, which names the column.
///
///     using policies = mds::policies<rows, mds::collate::dense>;
struct dense {
  static constexpr std::string_view name = "dense";

  [[nodiscard]] static constexpr bool accepts(const source_column& column) noexcept {
    return ragged::accepts(column) && column.value_bytes != 0;
  }

  // Where every column has a fixed size, the ragged layout has no offsets.
  std::uint64_t lay_out(std::span<const source_column> sources,
                        std::span<const detail::column_measure> measures, std::uint64_t samples,
                        std::vector<output_column>& outputs) const {
    return ragged{}.lay_out(sources, measures, samples, outputs);
  }
};

static_assert(collator<dense>);

}  // namespace mdstream::inline v0::collate
