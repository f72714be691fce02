#pragma once

#include <mdstream/format/detail/row_to_mds.hpp>
#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/format/row_values.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE sample_layout mds_form(const sample_layout& rows) {
  std::vector<column_spec> specs;
  specs.reserve(rows.size());
  for (const column_layout& column : rows.columns())
    specs.push_back({column.name,
                     column.type.kind == encoding_kind::float_ ? "float64" : column.encoding_text});
  return sample_layout::mds(specs);
}

MDSTREAM_INLINE void append_row_as_mds(const shard_config& config, const sample_layout& layout,
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

}  // namespace mdstream::inline v0::detail
