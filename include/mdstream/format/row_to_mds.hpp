#pragma once

/// Rows of JSONL and XSV shards as MDS samples, so that whoever reads samples knows one form.

#include <mdstream/format/file_info.hpp>
#include <mdstream/format/row_values.hpp>
#include <mdstream/format/sample_encoder.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <vector>

namespace mdstream::inline v0 {

/// The layout of MDS samples with the columns of a shard of rows: texts are `str`, integers `int`,
/// floats `float64`.
[[nodiscard]] inline sample_layout mds_form(const sample_layout& rows) {
  std::vector<column_spec> specs;
  specs.reserve(rows.size());
  for (const column_layout& column : rows.columns())
    specs.push_back({column.name,
                     column.type.kind == encoding_kind::float_ ? "float64" : column.encoding_text});
  return sample_layout::mds(specs);
}

/// Appends a row as an MDS sample of the layout `mds_form(config.layout)`. Throws errc::corrupt,
/// naming the column, for a row that has not its value, and errc::invalid_argument for an integer
/// beyond 64 bits. O(columns x row).
inline void append_row_as_mds(const shard_config& config, const sample_layout& layout,
                              bytes_view row, std::vector<std::byte>& out) {
  std::vector<named_value> values;
  values.reserve(layout.size());
  for (const column_layout& column : layout.columns())
    values.push_back({column.name, read_column(config, row, column.name)});
  sample_encoder encoder(layout);
  encoder.encode(values.data(), values.size());
  const std::size_t begin = out.size();
  out.resize(begin + static_cast<std::size_t>(encoder.size()));
  encoder.copy_to(out.data() + begin);
}

}  // namespace mdstream::inline v0
