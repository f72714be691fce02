#pragma once

/// Rows of JSONL and XSV shards as MDS samples, so that readers of samples know one form.

#include <mdstream/format/file_info.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <vector>

namespace mdstream::inline v0::detail {

/// The layout of MDS samples with the columns of a shard of rows: texts are `str`, integers `int`,
/// floats `float64`.
[[nodiscard]] sample_layout mds_form(const sample_layout& rows);

/// Appends a row as an MDS sample of the layout `mds_form(config.layout)`. Throws errc::corrupt,
/// naming the column, for a row that has not its value, and errc::invalid_argument for an integer
/// beyond 64 bits. O(columns x row).
void append_row_as_mds(const shard_config& config, const sample_layout& layout, bytes_view row,
                       std::vector<std::byte>& out);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/row_to_mds.ipp>
#endif
