#pragma once

/// How the samples of a shard become those that a program gets: MDS samples of the columns that it
/// reads.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/detail/column_picks.hpp>
#include <mdstream/format/file_info.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace mdstream::inline v0::detail {

/// Of all shards of a configuration, which has to outlive it. Thread-safe but for `select`.
class sample_form {
 public:
  /// All columns. Throws as `mds_form`.
  explicit sample_form(const shard_config& config);

  /// These columns. Throws as `column_picks`; then nothing changes.
  void select(const sample_layout& wanted);

  /// The columns that samples have in the end.
  [[nodiscard]] const sample_layout& layout() const noexcept {
    return as_stored() ? config_->layout : selected_;
  }
  /// Whether samples are used as they lie in the shard.
  [[nodiscard]] bool as_stored() const noexcept { return !is_row_ && picks_.takes_all(); }
  [[nodiscard]] bool is_row() const noexcept { return is_row_; }
  /// The columns that are not selected, as "id: int, text: str".
  [[nodiscard]] const std::string& ignored() const noexcept { return picks_.ignored(); }

  /// Checks a sample as it lies in the shard; of a row, `append` does that. Throws `errc::corrupt`.
  void check(bytes_view stored) const;

  /// Appends a stored sample as an MDS sample of `layout()`. Precondition: it passed `check`.
  /// Throws as `append_row_as_mds`, naming the column. O(sample); of a row, O(columns x row).
  void append(bytes_view stored, std::vector<std::byte>& out) const;

 private:
  const shard_config* config_;
  bool is_row_;
  sample_layout all_{};       // of a row: all its columns in MDS form
  sample_layout selected_{};  // where samples are not as they are stored
  column_picks picks_{};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/sample_form.ipp>
#endif
