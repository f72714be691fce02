#pragma once

/// The cells of JSONL and XSV rows: text, integers of any size, floats.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/format/file_info.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

[[noreturn]] inline void fail_cell(errc code, std::string what, std::string_view column) {
  throw error(code, diagnostics{.what = std::move(what), .column = std::string(column)});
}

[[nodiscard]] inline column_value integer_value(json::big_integer whole) {
  if (const auto fits = whole.as<std::int64_t>()) return *fits;
  if (const auto fits = whole.as<std::uint64_t>()) return *fits;
  return whole;
}

/// The value that the reader is at, if it is one that a cell can be.
[[nodiscard]] inline column_value read_json_cell(json::reader& in, const column_layout& column) {
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

[[nodiscard]] inline column_value read_json_column(const column_layout& column,
                                                   std::string_view row) {
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
[[nodiscard]] inline std::optional<std::string_view> find_field(std::string_view row,
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

[[nodiscard]] inline column_value read_xsv_column(const shard_config& config, std::string_view row,
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

}  // namespace detail

/// The value of column `column` in a sample of any shard format. It views sample and configuration.
/// Throws errc::corrupt, naming the column, if it is missing or no such value. For JSONL and XSV
/// O(row).
[[nodiscard]] inline column_value read_column(const shard_config& config, bytes_view sample,
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

/// The value of the column of that name. Throws errc::not_found if there is none.
[[nodiscard]] inline column_value read_column(const shard_config& config, bytes_view sample,
                                              std::string_view name) {
  return read_column(config, sample, config.layout.at(name));
}

namespace detail {

/// Adds a value to an XSV row, or as JSON to a JSONL row. It has to be of the column's type.
inline void append_cell(std::string& out, const encoding& type, const column_value& value,
                        bool as_json) {
  const auto refuse = [&]() {
    throw error(errc::invalid_argument,
                "a value of this type does not go into a column of " + to_string(type));
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

}  // namespace detail

/// Makes rows of JSONL and XSV shards.
class row_encoder {
 public:
  /// Precondition: a configuration of such a format, which outlives the encoder.
  explicit row_encoder(const shard_config& config) : config_(&config) {}

  /// The first line of each data file: the columns' names in XSV, nothing in JSONL.
  [[nodiscard]] std::string head() const {
    std::string out;
    if (config_->layout.format() == shard_format::json) return out;
    for (const column_layout& column : config_->layout.columns()) {
      if (!out.empty()) out += config_->separator;
      out += column.name;
    }
    return out + config_->newline;
  }

  /// The row of these values, valid until the next call. Values may come in any order; those of
  /// other columns are ignored.
  /// Throws errc::invalid_argument, naming the column, if a value is missing, of another type, or
  /// holds the separator or the newline.
  [[nodiscard]] std::string_view encode(const named_value* first, std::size_t count) {
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

 private:
  static const column_value& find_value(const std::string& name, const named_value* first,
                                        std::size_t count) {
    for (std::size_t k = count; k > 0; --k)
      if (first[k - 1].name == name) return first[k - 1].value;
    detail::fail_cell(errc::invalid_argument, "the sample has no value for a column", name);
  }

  /// Ends a cell. Its last characters and the separator may make a separator further in front.
  void append_separator(bool as_json) {
    const std::size_t end = row_.size();
    row_ += as_json ? ", " : config_->separator;
    if (!as_json && row_.find(config_->separator, cell_) != end)
      throw error(errc::invalid_argument, "a value ends like the separator begins");
  }

  void append_column(const column_layout& column, const column_value& value, bool as_json) {
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

  const shard_config* config_;
  std::string row_;
  std::size_t cell_ = 0;  // where the last cell begins
};

}  // namespace mdstream::inline v0
