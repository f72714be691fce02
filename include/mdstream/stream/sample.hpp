#pragma once

/// One sample of a dataset: a reference to a mapped shard and a range of its bytes.

#include <mdstream/cache/slots.hpp>
#include <mdstream/format/sample_view.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A sample owns a reference to its shard's mapping: what `get` returns is valid as long as the
/// sample, also when the shard is evicted meanwhile and when the dataset is gone. Copies are cheap.
/// Columns by name need the dataset to be alive.
template <class Schema>
class sample : public sample_view<Schema> {
 public:
  /// A row, and what its columns are read from.
  struct row {
    bytes_view raw{};
    std::vector<std::byte> mds{};
  };

  sample(shard_ref shard, bytes_view bytes, const sample_layout& layout) noexcept
      : sample_view<Schema>(bytes, layout), shard_(std::move(shard)) {}
  sample(shard_ref shard, std::shared_ptr<const row> from, const sample_layout& layout) noexcept
      : sample_view<Schema>(from->mds, layout), shard_(std::move(shard)), row_(std::move(from)) {}

  /// The sample as it lies in its raw shard: of a row its text, newline and all.
  [[nodiscard]] bytes_view bytes() const noexcept {
    return row_ ? row_->raw : sample_view<Schema>::bytes();
  }

 private:
  shard_ref shard_;
  std::shared_ptr<const row> row_;
};

}  // namespace mdstream::inline v0
