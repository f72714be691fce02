#pragma once

/// The values of a JSON text that columns ask for.

#include <mdstream/core/json/reader.hpp>
#include <mdstream/format/ndarray.hpp>
#include <mdstream/raw/detail/column_inference.hpp>
#include <mdstream/raw/detail/row_values.hpp>
#include <mdstream/raw/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw::detail {

/// An integer as JSON writes it, or nothing where it is none or does not fit.
[[nodiscard]] std::optional<std::int64_t> integer_of(std::string_view text) noexcept;

/// Reads nested lists of numbers as an array.
class json_array_reader {
 public:
  explicit json_array_reader(dtype type) : type_(type) {}

  void read(json::reader& in) { read(in, 0); }

  [[nodiscard]] any_ndarray array() const { return {type_, shape_, values_}; }
  [[nodiscard]] const array_shape& shape() const noexcept { return shape_; }

 private:
  void read(json::reader& in, std::size_t depth);

  void add(json::reader& in);

  dtype type_;
  std::size_t rank_ = 0;
  std::vector<std::uint64_t> extents_;
  array_shape shape_;
  std::vector<std::byte> values_;
};

/// Sets column `i` to the value that stands for null: `text` is its JSON, which outlives the
/// values. A column of bytes takes a text.
void set_null_value(std::string_view text, const sample_layout& layout, std::size_t i,
                    row_values& out);

/// What is read of JSON objects, by the paths of columns.
class json_columns {
 public:
  /// `layout`: of the samples with these columns.
  json_columns(const std::vector<column>& columns, const sample_layout& layout,
               const std::optional<std::string>& null_value);

  /// Sets the values of a row. Throws errc::corrupt, naming column and byte.
  void read(std::string_view row, row_values& out);

 private:
  struct node {
    std::string name{};
    std::optional<std::size_t> column{};
    std::vector<node> children{};
    std::vector<std::size_t> sorted{};  // places in `children`, by key
    std::size_t next = 0;               // rows mostly have their keys in the same order

    [[nodiscard]] auto place_of(std::string_view key) {
      return std::lower_bound(
          sorted.begin(), sorted.end(), key,
          [&](std::size_t i, std::string_view wanted) { return children[i].name < wanted; });
    }
    node& child(std::string_view key);
    node* find(std::string_view key);
  };

  static std::vector<std::string> steps_of(const column& each);

  void read(json::reader& in, node& at, std::string_view row, row_values& out);

  void read_members(json::reader& in, node& at, std::string_view row, row_values& out);

  void read_column(json::reader& in, node& at, std::string_view row, row_values& out);

  /// Null, or the value that stands for it. What has none stays without.
  void set_missing(std::size_t i, row_values& out);

  const sample_layout* layout_;
  std::optional<std::string> null_value_;
  node root_;
  std::size_t current_begin_ = 0;
  const column_layout* current_ = nullptr;
};

/// Adds the members of a JSON object to the inference of columns.
void infer_json(std::string_view row, column_inference& out);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/json_row.ipp>
#endif
