#pragma once

/// One sample of a dataset: a reference to a mapped shard and a range of its bytes.

#include <mdstream/cache/slots.hpp>
#include <mdstream/format/sample_view.hpp>

#include <utility>

namespace mdstream::inline v0 {

/// A sample owns a reference to its shard's mapping: what `get` returns is valid as long as the
/// sample, also when the shard is evicted meanwhile and when the dataset is gone. Copies are cheap.
/// Columns by name need the dataset to be alive.
template <class Schema>
class sample : public sample_view<Schema> {
 public:
  sample(shard_ref shard, bytes_view bytes, const sample_layout& layout) noexcept
      : sample_view<Schema>(bytes, layout), shard_(std::move(shard)) {}

 private:
  shard_ref shard_;
};

}  // namespace mdstream::inline v0
