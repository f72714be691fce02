#pragma once

/// The samples of a mapped shard of any format.

#include <mdstream/core/bytes.hpp>
#include <mdstream/format/detail/row_shard.hpp>
#include <mdstream/format/mds_shard.hpp>

#include <cstdint>

namespace mdstream::inline v0::detail {

/// Owns nothing: valid as long as the mapping. Safe from any thread.
class shard_samples {
 public:
  shard_samples() = default;
  explicit shard_samples(const mds_shard_view& shard) noexcept : mds_(shard) {}
  explicit shard_samples(const row_shard_view& shard) noexcept : rows_(shard), is_rows_(true) {}

  /// The bytes of sample `i` as they lie in the shard. Throws as the views of the formats.
  [[nodiscard]] bytes_view operator[](std::uint64_t i) const {
    return is_rows_ ? rows_[i] : mds_[i];
  }

  /// Hints that the sample is read soon. Precondition: it is one of the shard's.
  void prefetch(std::uint64_t i) const noexcept {
    if (!is_rows_) mds_.prefetch(i);
  }

 private:
  mds_shard_view mds_;
  row_shard_view rows_;
  bool is_rows_ = false;
};

}  // namespace mdstream::inline v0::detail
