#pragma once

/// The cells of JSONL and XSV rows: text, integers of any size, floats.

#include <mdstream/format/column_value.hpp>
#include <mdstream/format/file_info.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// The value of column `column` in a sample of any shard format. It views sample and configuration.
/// Throws errc::corrupt, naming the column, if it is missing or no such value. For JSONL and XSV
/// O(row).
[[nodiscard]] column_value read_column(const shard_config& config, bytes_view sample,
                                       std::size_t column);

/// The value of the column of that name. Throws errc::not_found if there is none.
[[nodiscard]] inline column_value read_column(const shard_config& config, bytes_view sample,
                                              std::string_view name) {
  return read_column(config, sample, config.layout.at(name));
}

/// Makes rows of JSONL and XSV shards.
class row_encoder {
 public:
  /// Precondition: a configuration of such a format, which outlives the encoder.
  explicit row_encoder(const shard_config& config) : config_(&config) {}

  /// The first line of each data file: the columns' names in XSV, nothing in JSONL.
  [[nodiscard]] std::string head() const;

  /// The row of these values, valid until the next call. Values may come in any order; those of
  /// other columns are ignored.
  /// Throws errc::invalid_argument, naming the column, if a value is missing, of another type, or
  /// holds the separator or the newline.
  [[nodiscard]] std::string_view encode(const named_value* first, std::size_t count);

 private:
  static const column_value& find_value(const std::string& name, const named_value* first,
                                        std::size_t count);

  /// Ends a cell. Its last characters and the separator may make a separator further in front.
  void append_separator(bool as_json);

  void append_column(const column_layout& column, const column_value& value, bool as_json);

  const shard_config* config_;
  std::string row_;
  std::size_t cell_ = 0;  // where the last cell begins
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/row_values.ipp>
#endif
