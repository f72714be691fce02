#pragma once

/// Which columns rows have, from a look at the first of them.

#include <mdstream/core/error.hpp>
#include <mdstream/raw/options.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::raw {

/// Collects what values rows have. Of many objects, one collects for each, and `merge` gives the
/// same result in any order.
///
/// A column is `int` if all its values are integers of 64 bits, else `float64` if all are numbers,
/// `uint8` if all are booleans, `str` if all are texts, and `json` if they are nested, mixed, null
/// or missing in some row. A null value of the options stands for null and what is missing.
class column_inference {
 public:
  enum seen : unsigned {
    null = 1,
    boolean = 2,
    integer = 4,
    huge_integer = 8,  ///< of more than 64 bits
    real = 16,
    text = 32,
    nested = 64,
  };

  static constexpr std::uint64_t rows_of_an_object = 1000;
  static constexpr std::size_t max_columns = 1000;

  /// Values that follow belong to another row.
  void add_row() { ++rows_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

  /// The row has a value of this kind.
  void add(std::string_view name, seen what) { at(name).add(what, rows_); }

  /// The row has a value that always has this encoding, whatever its bytes.
  void add(std::string_view name, std::string_view encoding) {
    entry& each = at(name);
    each.add({}, rows_);
    each.fix(encoding);
  }

  void merge(const column_inference& other) {
    for (const auto& [name, theirs] : other.columns_) {
      entry& mine = at(name);
      mine.kinds |= theirs.kinds;
      mine.rows += theirs.rows;
      if (!theirs.encoding.empty()) mine.fix(theirs.encoding);
    }
    rows_ += other.rows_;
  }

  /// The columns by name. Throws errc::invalid_argument where there is none, or one of a fixed
  /// encoding is missing in some rows and no null value stands for it.
  [[nodiscard]] std::vector<column> columns(const options& about) const {
    std::vector<column> out;
    for (const auto& [name, each] : columns_) {
      const bool partial = each.rows < rows_;
      if (partial && !each.encoding.empty() && !about.null_value)
        throw error(
            errc::invalid_argument,
            diagnostics{.what = "a field is missing in " + std::to_string(rows_ - each.rows) +
                                " of the first " + std::to_string(rows_) +
                                " samples: name the columns, or say what stands for null",
                        .column = name});
      out.push_back({name,
                     each.encoding.empty() ? encoding_of(each.kinds | (partial ? null : 0u), about)
                                           : each.encoding,
                     {}});
    }
    if (out.empty())
      throw error(errc::invalid_argument,
                  "there is no row to infer the columns from: name the columns");
    return out;
  }

 private:
  struct entry {
    unsigned kinds = 0;
    std::uint64_t rows = 0;
    std::uint64_t last_row = 0;
    std::string encoding{};

    void add(unsigned what, std::uint64_t row) {
      kinds |= what;
      if (last_row != row) ++rows;  // of equal keys in a row, one counts
      last_row = row;
    }
    void fix(std::string_view wanted) {
      if (!encoding.empty() && encoding != wanted)
        encoding = "bytes";
      else
        encoding = wanted;
    }
  };

  entry& at(std::string_view name) {
    const auto found = columns_.find(name);
    if (found != columns_.end()) return found->second;
    if (columns_.size() == max_columns)
      throw error(errc::unsupported, "the first rows have more than " +
                                         std::to_string(max_columns) +
                                         " different keys: name the columns");
    return columns_[std::string(name)];
  }

  static std::string encoding_of(unsigned kinds, const options& about) {
    if (about.null_value) kinds &= ~unsigned{null};
    if (kinds == boolean) return "uint8";
    if (kinds == integer) return "int";
    if (kinds == huge_integer || kinds == (integer | huge_integer)) return "str_int";
    if (kinds != 0 && (kinds & ~unsigned{integer | huge_integer | real}) == 0) return "float64";
    if (kinds == text) return "str";
    return "json";
  }

  std::map<std::string, entry, std::less<>> columns_;
  std::uint64_t rows_ = 0;
};

}  // namespace mdstream::inline v0::raw
