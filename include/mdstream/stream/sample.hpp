#pragma once

/// One sample of a dataset: a reference to a mapped shard and a range of its bytes.

#include <mdstream/cache/detail/slots.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/format/sample_layout.hpp>
#include <mdstream/format/sample_view.hpp>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// A reference that can lie in a register. On paths that are rarely taken the destructor of
/// `shard_ref` is called with its address, for which the compiler would keep the reference in
/// memory on all paths; here that is the address of another one.
class held_shard {
 public:
  explicit held_shard(shard_ref shard) noexcept : shard_(std::move(shard)) {}
  held_shard(const held_shard& other) noexcept : shard_(other.shard_) {}
  held_shard(held_shard&& other) noexcept : shard_(std::move(other.shard_)) {}
  held_shard& operator=(held_shard other) noexcept {
    shard_ = std::move(other.shard_);
    return *this;
  }
  [[gnu::always_inline]] ~held_shard() {
    if (shard_) [[likely]] {
      const shard_ref last(std::move(shard_));
    }
  }

 private:
  union {
    shard_ref shard_;  // not destroyed: by then it is none
  };
};

/// A sample that is not used as it lies in its shard, and what its columns are read from.
struct sample_row {
  bytes_view raw{};
  std::vector<std::byte> mds{};
  std::vector<std::byte> alone{};  ///< holds `raw` where no shard does
};

/// A sample of any columns.
struct found_sample {
  shard_ref shard{};
  bytes_view bytes{};  ///< in the shard, if there is no row
  std::shared_ptr<const sample_row> row{};
  const sample_layout* layout = nullptr;
};

}  // namespace detail

/// One sample of a dataset. It owns a reference to its shard's mapping: what `get` returns is valid
/// as long as the sample, also if the shard is evicted or the dataset is destroyed. Copies are
/// cheap. `get` by name needs the dataset to be alive, and so do the extents of an `any_ndarray` of
/// a column whose shape is fixed.
///
///     const mds::sample<rows> one = data[17];
///     const std::string_view text = one.get<"text">();  // valid as long as `one`
template <class Schema>
class sample : public sample_view<Schema> {
 public:
  sample(detail::shard_ref shard, bytes_view bytes, const sample_layout& layout) noexcept
      : sample_view<Schema>(bytes, layout), shard_(std::move(shard)) {}
  explicit sample(detail::found_sample found) noexcept
      : sample_view<Schema>(found.row ? bytes_view(found.row->mds) : found.bytes, *found.layout),
        shard_(std::move(found.shard)),
        row_(std::move(found.row)) {}

  sample(const sample&) noexcept = default;
  sample(sample&&) noexcept = default;
  sample& operator=(const sample&) noexcept = default;
  sample& operator=(sample&&) noexcept = default;
  // A call, on whatever path, would want the whole sample in memory.
  [[gnu::always_inline]] ~sample() {}

  /// The bytes of the sample in its raw shard; for a row its text with the newline.
  [[nodiscard]] bytes_view bytes() const noexcept {
    return row_ ? row_->raw : sample_view<Schema>::bytes();
  }

 private:
  detail::held_shard shard_;
  std::shared_ptr<const detail::sample_row> row_;
};

}  // namespace mdstream::inline v0
