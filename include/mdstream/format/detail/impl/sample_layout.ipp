#pragma once

#include <mdstream/format/sample_layout.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE sample_layout::sample_layout(shard_format format,
                                             std::vector<column_layout> columns)
    : format_(format), columns_(std::move(columns)) {
  slots_.reserve(columns_.size());
  slot next{};
  for (const column_layout& column : columns_) {
    slots_.push_back(next);
    if (column.size)
      next.fixed_before += *column.size;
    else
      ++next.variable_before;
  }
  header_ = 4 * std::size_t{next.variable_before};
  smallest_ = header_ + next.fixed_before;
}

MDSTREAM_INLINE sample_layout sample_layout::mds(const std::vector<column_spec>& specs) {
  std::vector<column_layout> columns;
  columns.reserve(specs.size());
  for (const column_spec& spec : specs) {
    const encoding type = parse_encoding(spec.encoding_text);
    columns.push_back({spec.name, spec.encoding_text, type, fixed_size(type)});
  }
  return of(std::move(columns));
}

MDSTREAM_INLINE sample_layout sample_layout::of(std::vector<column_layout> columns) {
  if (columns.empty()) throw error(errc::invalid_argument, "a dataset needs at least one column");
  std::sort(columns.begin(), columns.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < columns.size(); ++i)
    if (columns[i].name == columns[i - 1].name)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "a column is named twice", .column = columns[i].name});
  return {shard_format::mds, std::move(columns)};
}

MDSTREAM_INLINE std::size_t sample_layout::at(std::string_view name) const {
  if (const std::optional<std::size_t> found = find(name)) return *found;
  throw error(errc::not_found, diagnostics{.what = "no such column; the dataset has " + describe(),
                                           .column = std::string(name)});
}

MDSTREAM_INLINE std::string sample_layout::describe() const {
  std::string out;
  for (const column_layout& column : columns_) {
    if (!out.empty()) out += ", ";
    out.append(column.name).append(": ").append(column.encoding_text);
  }
  return out;
}

MDSTREAM_INLINE void sample_layout::fail_short(std::size_t size, std::size_t column) const {
  throw error(errc::corrupt,
              diagnostics{.what = "a sample of " + std::to_string(size) +
                                  " bytes is shorter than its header and columns of fixed "
                                  "size, " +
                                  std::to_string(smallest_) + " bytes",
                          .column = columns_[column].name});
}

MDSTREAM_INLINE void sample_layout::fail_beyond(std::size_t size, std::size_t column,
                                                std::uint64_t begin, std::uint64_t length) const {
  throw error(errc::corrupt,
              diagnostics{.what = "a column of " + std::to_string(length) + " bytes at " +
                                  std::to_string(begin) + " reaches beyond its sample of " +
                                  std::to_string(size) + " bytes",
                          .column = columns_[column].name});
}

}  // namespace mdstream::inline v0
