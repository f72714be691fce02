#pragma once

/// Samples of some columns, made of samples that have these columns and perhaps others.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// A column's encoding, as an index has it. Owns nothing.
struct encoding_view {
  std::string_view text;
  const encoding& type;
  std::optional<std::uint64_t> size;
};

/// Whether a column that was found holds values of a wanted encoding. Any encoding that MDS does
/// not define is read as bytes, too.
[[nodiscard]] bool serves(const column_layout& found, const encoding_view& wanted) noexcept;
/// The same of a wanted column.
[[nodiscard]] inline bool serves(const column_layout& found, const column_layout& wanted) noexcept {
  return serves(found, {wanted.encoding_text, wanted.type, wanted.size});
}

/// Why a column that was found does not serve as a wanted one.
[[nodiscard]] std::string difference(const column_layout& found, const column_layout& wanted);

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
  [[nodiscard]] const std::string& ignored() const noexcept { return ignored_; }

  /// Appends a sample of `found` as one of `wanted`: the layouts of the constructor. Precondition:
  /// it passed `found.check`.
  void append(const sample_layout& found, const sample_layout& wanted, bytes_view sample,
              std::vector<std::byte>& out) const;

 private:
  std::vector<std::size_t> from_;  // of each wanted column
  std::string ignored_;
  bool takes_all_ = true;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/column_picks.ipp>
#endif
