#pragma once

/// Samples of some columns, made of samples that have these columns and perhaps others.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// Whether a column that was found holds the values of a wanted one. Any encoding that MDS does not
/// define is read as bytes, too.
[[nodiscard]] bool serves(const column_layout& found, const column_layout& wanted) noexcept;

/// The columns of the first that all have, with the same encoding.
[[nodiscard]] std::vector<column_layout> common_columns(const std::vector<sample_layout>& all);

/// Where the columns of a wanted layout are in samples of another.
class column_picks {
 public:
  column_picks() = default;
  /// Throws `errc::schema_mismatch`, naming the first column that `found` lacks or has with another
  /// encoding, and both lists.
  column_picks(const sample_layout& found, const sample_layout& wanted);

  /// Whether samples are as they are wanted.
  [[nodiscard]] bool takes_all() const noexcept { return takes_all_; }
  /// The columns that are not wanted, as "id: int, text: str".
  [[nodiscard]] const std::string& left() const noexcept { return left_; }

  /// Appends a sample of `found` as one of `wanted`: the layouts of the constructor. Throws
  /// `errc::corrupt`, naming the column, for a sample that is none.
  void append(const sample_layout& found, const sample_layout& wanted, bytes_view sample,
              std::vector<std::byte>& out) const;

 private:
  std::vector<std::size_t> from_;  // of each wanted column
  std::string left_;
  bool takes_all_ = true;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/column_picks.ipp>
#endif
