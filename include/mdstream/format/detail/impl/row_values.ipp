#pragma once

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/row_values.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

namespace mdstream::inline v0::detail {

[[noreturn]] MDSTREAM_INLINE void fail_cell(errc code, std::string what, std::string_view column) {
  throw error(code, diagnostics{.what = std::move(what), .column = std::string(column)});
}

MDSTREAM_INLINE column_value integer_value(json::big_integer whole) {
  if (const auto fits = whole.as<std::int64_t>()) return *fits;
  if (const auto fits = whole.as<std::uint64_t>()) return *fits;
  return whole;
}

/// The value that the reader is at, if it is one that a cell can be.
MDSTREAM_INLINE column_value read_json_cell(json::reader& in, const column_layout& column) {
  switch (in.peek()) {
    case json::kind::string: return column_value::owning(std::string(in.string()));
    case json::kind::boolean: return in.boolean();
    case json::kind::real: return in.number();
    case json::kind::integer: {
      const std::string_view digits = in.number_text();
      if (column.type.kind == encoding_kind::float_) return json::to_double(digits);
      return integer_value({std::string(digits)});
    }
    default: fail_cell(errc::corrupt, "a cell is no text or number", column.name);
  }
}

MDSTREAM_INLINE column_value read_json_column(const column_layout& column, std::string_view row) {
  json::reader in(row);
  std::optional<column_value> found;
  in.begin_object();
  while (const auto key = in.next_key()) {
    if (*key == column.name)
      found = read_json_cell(in, column);  // of equal keys the last counts
    else
      in.skip();
  }
  in.finish();
  if (!found) fail_cell(errc::corrupt, "the row has no such column", column.name);
  return *std::move(found);
}

/// The text of field `index` of a row without its newline, or nothing if there are fewer.
MDSTREAM_INLINE std::optional<std::string_view> find_field(std::string_view row,
                                                           std::string_view separator,
                                                           std::size_t index) {
  while (true) {
    const std::size_t end = row.find(separator);
    if (index == 0) return row.substr(0, end);
    if (end == std::string_view::npos) return std::nullopt;
    row.remove_prefix(end + separator.size());
    --index;
  }
}

MDSTREAM_INLINE column_value read_xsv_column(const shard_config& config, std::string_view row,
                                             std::size_t index) {
  const column_layout& column = config.layout[index];
  if (config.separator.empty()) fail_cell(errc::corrupt, "the separator is empty", column.name);
  if (!row.ends_with(config.newline))
    fail_cell(errc::corrupt, "the row does not end with the newline", column.name);
  row.remove_suffix(config.newline.size());
  const std::optional<std::string_view> text = find_field(row, config.separator, index);
  if (!text) fail_cell(errc::corrupt, "the row has too few fields", column.name);
  if (column.type.kind == encoding_kind::int_) {
    auto whole = parse_python_int(*text);
    if (!whole) fail_cell(errc::corrupt, "a cell is not an integer", column.name);
    return integer_value(*std::move(whole));
  }
  if (column.type.kind == encoding_kind::float_) {
    const auto number = parse_python_float(*text);
    if (!number) fail_cell(errc::corrupt, "a cell is not a number", column.name);
    return *number;
  }
  return *text;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE column_value read_column(const shard_config& config, bytes_view sample,
                                         std::size_t column) {
  if (config.layout.format() == shard_format::mds)
    return read_column(config.layout, sample, column);
  try {
    const std::string_view row = detail::checked_text(sample);
    return config.layout.format() == shard_format::json
               ? detail::read_json_column(config.layout[column], row)
               : detail::read_xsv_column(config, row, column);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = config.layout[column].name;
    throw error(e.code(), std::move(where));
  }
}

}  // namespace mdstream::inline v0

namespace mdstream::inline v0::detail {

/// Adds a value to an XSV row, or as JSON to a JSONL row. It has to be of the column's type.
MDSTREAM_INLINE void append_cell(std::string& out, const encoding& type, const column_value& value,
                                 bool as_json) {
  const auto refuse = [&]() {
    throw error(errc::invalid_argument,
                "a value of this type does not go into a column of " + mdstream::to_string(type));
  };
  if (type.kind == encoding_kind::str) {
    const auto text = value.text();
    if (!text) refuse();
    if (as_json)
      json::append_string(out, *text);
    else if (first_invalid_utf8(*text) != text->size())
      throw error(errc::invalid_argument, "a text is not UTF-8");
    else
      out += *text;
  } else if (type.kind == encoding_kind::float_) {
    const double* number = std::get_if<double>(&value.get());
    if (number == nullptr) refuse();
    as_json ? json::append_number(out, *number) : json::append_repr(out, *number);
  } else if (const bool* flag = std::get_if<bool>(&value.get()); flag != nullptr && as_json) {
    out += *flag ? "true" : "false";
  } else if (const auto* i = std::get_if<std::int64_t>(&value.get())) {
    out += std::to_string(*i);
  } else if (const auto* u = std::get_if<std::uint64_t>(&value.get())) {
    out += std::to_string(*u);
  } else if (const auto* big = std::get_if<json::big_integer>(&value.get())) {
    const auto parsed = parse_python_int(big->digits);
    if (!parsed) throw error(errc::invalid_argument, "a text is not an integer");
    out += parsed->digits;
  } else {
    refuse();
  }
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::string row_encoder::head() const {
  std::string out;
  if (config_->layout.format() == shard_format::json) return out;
  for (const column_layout& column : config_->layout.columns()) {
    if (!out.empty()) out += config_->separator;
    out += column.name;
  }
  return out + config_->newline;
}

MDSTREAM_INLINE std::string_view row_encoder::encode(const named_value* first, std::size_t count) {
  const bool as_json = config_->layout.format() == shard_format::json;
  row_.clear();
  if (as_json) row_ += '{';
  for (std::size_t i = 0; i < config_->layout.size(); ++i) {
    const column_layout& column = config_->layout[i];
    if (i > 0) append_separator(as_json);
    if (as_json) {
      json::append_string(row_, column.name);
      row_ += ": ";
    }
    append_column(column, find_value(column.name, first, count), as_json);
  }
  if (as_json) row_ += '}';
  row_ += config_->newline;
  return row_;
}

MDSTREAM_INLINE const column_value& row_encoder::find_value(const std::string& name,
                                                            const named_value* first,
                                                            std::size_t count) {
  for (std::size_t k = count; k > 0; --k)
    if (first[k - 1].name == name) return first[k - 1].value;
  detail::fail_cell(errc::invalid_argument, "the sample has no value for a column", name);
}

MDSTREAM_INLINE void row_encoder::append_separator(bool as_json) {
  const std::size_t end = row_.size();
  row_ += as_json ? ", " : config_->separator;
  if (!as_json && row_.find(config_->separator, cell_) != end)
    throw error(errc::invalid_argument, "a value ends like the separator begins");
}

MDSTREAM_INLINE void row_encoder::append_column(const column_layout& column,
                                                const column_value& value, bool as_json) {
  const std::size_t begin = row_.size();
  cell_ = begin;
  try {
    detail::append_cell(row_, column.type, value, as_json);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = column.name;
    throw error(e.code(), std::move(where));
  }
  if (as_json) return;
  const std::string_view cell = std::string_view(row_).substr(begin);
  if (cell.find(config_->separator) != std::string_view::npos ||
      cell.find(config_->newline) != std::string_view::npos)
    detail::fail_cell(errc::invalid_argument, "a value holds the separator or the newline",
                      column.name);
}

}  // namespace mdstream::inline v0
