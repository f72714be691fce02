#pragma once

/// How the columns of a shard lie in its samples, as the index tells it.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/encoding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// The formats of shards.
enum class shard_format : std::uint8_t { mds, json, csv, tsv, xsv };

/// The name in the index, which is also the extension of the files: "mds", "json", "csv", ...
[[nodiscard]] constexpr std::string_view to_string(shard_format format) noexcept {
  switch (format) {
    case shard_format::mds: return "mds";
    case shard_format::json: return "json";
    case shard_format::csv: return "csv";
    case shard_format::tsv: return "tsv";
    case shard_format::xsv: return "xsv";
  }
  return "";
}

/// The format of that name, or nothing.
[[nodiscard]] constexpr std::optional<shard_format> find_shard_format(
    std::string_view name) noexcept {
  for (const shard_format format : {shard_format::mds, shard_format::json, shard_format::csv,
                                    shard_format::tsv, shard_format::xsv})
    if (to_string(format) == name) return format;
  return std::nullopt;
}

/// A column by name and encoding.
struct column_spec {
  std::string name{};
  std::string encoding_text{};  ///< as the writer's user gave it: "ndarray:uint16: 3"

  friend bool operator==(const column_spec&, const column_spec&) = default;
};

/// One column of a layout.
struct column_layout {
  std::string name{};
  std::string encoding_text{};  ///< verbatim from the index
  encoding type{};
  std::optional<std::uint64_t> size{};  ///< bytes of every value, if they are all of one size

  friend bool operator==(const column_layout&, const column_layout&) = default;
};

/// The columns of a shard in storage order, and where they are in an MDS sample. Immutable, shared
/// by all shards of a dataset that agree.
///
/// An MDS sample is a u32 size for each column of variable size, then all values back to back.
///
///     for (const mds::column_layout& column : data.layout().columns())
///       use(column.name, column.encoding_text);
class sample_layout {
 public:
  sample_layout() = default;

  /// Precondition: the columns are in storage order.
  sample_layout(shard_format format, std::vector<column_layout> columns)
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

  /// The layout of an MDS dataset with these columns, in any order.
  /// Throws errc::invalid_argument for an encoding that is none, a name twice, or no column.
  [[nodiscard]] static sample_layout mds(const std::vector<column_spec>& specs) {
    std::vector<column_layout> columns;
    columns.reserve(specs.size());
    for (const column_spec& spec : specs) {
      const encoding type = parse_encoding(spec.encoding_text);
      columns.push_back({spec.name, spec.encoding_text, type, fixed_size(type)});
    }
    return of(std::move(columns));
  }

  /// The same for columns that are known in full, which may have encodings that MDS does not
  /// define.
  [[nodiscard]] static sample_layout of(std::vector<column_layout> columns) {
    if (columns.empty()) throw error(errc::invalid_argument, "a dataset needs at least one column");
    std::sort(columns.begin(), columns.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
    for (std::size_t i = 1; i < columns.size(); ++i)
      if (columns[i].name == columns[i - 1].name)
        throw error(errc::invalid_argument,
                    diagnostics{.what = "a column is named twice", .column = columns[i].name});
    return {shard_format::mds, std::move(columns)};
  }

  [[nodiscard]] shard_format format() const noexcept { return format_; }
  [[nodiscard]] const std::vector<column_layout>& columns() const noexcept { return columns_; }
  [[nodiscard]] std::size_t size() const noexcept { return columns_.size(); }
  [[nodiscard]] const column_layout& operator[](std::size_t i) const noexcept {
    return columns_[i];
  }

  /// Position of the column of that name in storage order, or nothing. O(columns).
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const noexcept {
    const auto at = std::find_if(columns_.begin(), columns_.end(),
                                 [name](const auto& column) { return column.name == name; });
    if (at == columns_.end()) return std::nullopt;
    return static_cast<std::size_t>(at - columns_.begin());
  }

  /// As `find`. Throws errc::not_found naming the columns that there are.
  [[nodiscard]] std::size_t at(std::string_view name) const {
    if (const std::optional<std::size_t> found = find(name)) return *found;
    throw error(errc::not_found,
                diagnostics{.what = "no such column; the dataset has " + describe(),
                            .column = std::string(name)});
  }

  /// Number of columns whose values differ in size.
  [[nodiscard]] std::size_t variable_columns() const noexcept { return header_ / 4; }

  /// Bytes of every sample if all columns are of fixed size.
  [[nodiscard]] std::optional<std::uint64_t> fixed_sample_size() const noexcept {
    if (header_ != 0) return std::nullopt;
    return smallest_;
  }

  /// The bytes of column `column` in an MDS sample. O(variable columns before it).
  /// Throws errc::corrupt, naming column and byte, if they reach beyond the sample.
  [[nodiscard]] bytes_view locate(bytes_view sample, std::size_t column) const {
    if (sample.size() < smallest_) fail_short(sample.size(), column);
    const slot& where = slots_[column];
    std::uint64_t begin = header_ + where.fixed_before;
    for (std::size_t i = 0; i < where.variable_before; ++i)
      begin += load<std::uint32_t>(sample.data() + 4 * i);
    const std::uint64_t length =
        columns_[column].size
            ? *columns_[column].size
            : load<std::uint32_t>(sample.data() + 4 * std::size_t{where.variable_before});
    if (begin + length > sample.size()) fail_beyond(sample.size(), column, begin, length);
    return sample.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(length));
  }

  /// Checks that the sample is exactly its header and its columns.
  /// Throws errc::corrupt if bytes are missing or left over.
  void check(bytes_view sample) const {
    const std::size_t last = columns_.size() - 1;
    const bytes_view value = locate(sample, last);
    const std::size_t end = static_cast<std::size_t>(value.data() - sample.data()) + value.size();
    if (end != sample.size())
      throw error(errc::corrupt, diagnostics{.what = std::to_string(sample.size() - end) +
                                                     " bytes follow the sample's last column",
                                             .column = columns_[last].name,
                                             .byte = end});
  }

  /// "id: int, text: str"
  [[nodiscard]] std::string describe() const {
    std::string out;
    for (const column_layout& column : columns_) {
      if (!out.empty()) out += ", ";
      out.append(column.name).append(": ").append(column.encoding_text);
    }
    return out;
  }

  friend bool operator==(const sample_layout& a, const sample_layout& b) noexcept {
    return a.format_ == b.format_ && a.columns_ == b.columns_;
  }

 private:
  struct slot {
    std::uint64_t fixed_before = 0;
    std::uint32_t variable_before = 0;
  };

  [[noreturn]] void fail_short(std::size_t size, std::size_t column) const {
    throw error(errc::corrupt,
                diagnostics{.what = "a sample of " + std::to_string(size) +
                                    " bytes is shorter than its header and columns of fixed "
                                    "size, " +
                                    std::to_string(smallest_) + " bytes",
                            .column = columns_[column].name});
  }

  [[noreturn]] void fail_beyond(std::size_t size, std::size_t column, std::uint64_t begin,
                                std::uint64_t length) const {
    throw error(errc::corrupt,
                diagnostics{.what = "a column of " + std::to_string(length) + " bytes at " +
                                    std::to_string(begin) + " reaches beyond its sample of " +
                                    std::to_string(size) + " bytes",
                            .column = columns_[column].name});
  }

  shard_format format_ = shard_format::mds;
  std::vector<column_layout> columns_;
  std::vector<slot> slots_;
  std::size_t header_ = 0;
  std::uint64_t smallest_ = 0;
};

}  // namespace mdstream::inline v0
