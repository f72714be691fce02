#pragma once

/// Which columns rows have, from a look at the first of them.

#include <mdstream/core/json.hpp>
#include <mdstream/raw/options.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::raw::detail {

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
  void add(std::string_view name, std::string_view encoding);

  void merge(const column_inference& other);

  /// Throws errc::invalid_argument, naming the column, where not the same columns were seen in the
  /// object `first_key`, or with other encodings. Columns that one of them lacks are allowed if
  /// `allows_missing`.
  void require_columns_of(const column_inference& first, std::string_view first_key,
                          bool allows_missing) const;

  /// The columns by name. Throws errc::invalid_argument where there is none, or one of a fixed
  /// encoding is missing in some rows and no null value stands for it.
  [[nodiscard]] std::vector<column> columns(const options& about) const;

  /// As JSON, so that a scan can be kept.
  [[nodiscard]] json::value dump() const;
  /// What `dump` gave. Throws errc::corrupt for anything else.
  [[nodiscard]] static column_inference parse(const json::value& text);

 private:
  struct entry {
    unsigned kinds = 0;
    std::uint64_t rows = 0;
    std::uint64_t last_row = 0;
    std::string encoding{};

    void add(unsigned what, std::uint64_t row);
    void fix(std::string_view wanted);
  };

  entry& at(std::string_view name);

  static std::string encoding_of(unsigned kinds, const options& about);

  std::map<std::string, entry, std::less<>> columns_;
  std::uint64_t rows_ = 0;
};

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/column_inference.ipp>
#endif
