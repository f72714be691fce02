#pragma once

/// What `batch.get` returns: views of one column of a batch. They own nothing and are valid as long
/// as the batch, on the stream that `ready_on` was called with. The data may lie on a device:
/// reading elements through these views is for host memory only, `data()` is for both.

#include <mdstream/format/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// A dense column: `shape()[0]` samples of equal shape, C order, without gaps.
template <class T>
class dense_view {
 public:
  dense_view() = default;
  /// `element` is the shape of one sample's value; it has to outlive the view.
  dense_view(const T* data, std::size_t samples, const array_shape& element) noexcept
      : data_(data), samples_(samples), width_(element.elements()), element_(&element) {}

  [[nodiscard]] const T* data() const noexcept { return data_; }
  /// {samples, extents of one value ...}; rank 1 for scalars.
  [[nodiscard]] array_shape shape() const noexcept {
    array_shape extents{samples_};
    if (element_ != nullptr)
      for (const std::uint64_t extent : *element_) extents.push_back(extent);
    return extents;
  }
  /// Number of elements of all samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_ * width_; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data_, size()}; }

  /// All elements of sample `i`. Precondition: `i < shape()[0]`.
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    return {data_ + i * width_, width_};
  }

 private:
  const T* data_ = nullptr;
  std::size_t samples_ = 0;
  std::size_t width_ = 0;
  const array_shape* element_ = nullptr;
};

/// A ragged column: the elements of all samples back to back, and where each sample begins.
/// `T` is the element type; `char` for texts.
template <class T>
class ragged_view {
 public:
  ragged_view() = default;
  ragged_view(const T* values, std::size_t value_count, const std::int64_t* offsets,
              std::size_t samples) noexcept
      : values_(values), value_count_(value_count), offsets_(offsets), samples_(samples) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {values_, value_count_}; }
  /// `size() + 1` element numbers: sample `i` is `values()[offsets()[i] .. offsets()[i + 1])`.
  [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept {
    return {offsets_, samples_ + 1};
  }

  /// The elements of sample `i`; a `std::string_view` for texts. Precondition: `i < size()`.
  [[nodiscard]] auto operator[](std::size_t i) const noexcept {
    const auto begin = static_cast<std::size_t>(offsets_[i]);
    const auto count = static_cast<std::size_t>(offsets_[i + 1]) - begin;
    if constexpr (std::is_same_v<T, char>) {
      return std::string_view(values_ + begin, count);
    } else {
      return std::span<const T>(values_ + begin, count);
    }
  }

 private:
  const T* values_ = nullptr;
  std::size_t value_count_ = 0;
  const std::int64_t* offsets_ = nullptr;
  std::size_t samples_ = 0;
};

/// A padded column: rows of one length, a row for each sample. `T` is the element type.
template <class T>
class padded_view {
 public:
  padded_view() = default;
  padded_view(const T* values, const std::uint8_t* mask, const std::int64_t* lengths,
              std::size_t samples, std::size_t row_elements) noexcept
      : values_(values),
        mask_(mask),
        lengths_(lengths),
        samples_(samples),
        row_elements_(row_elements) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  /// {samples, elements of a row}.
  [[nodiscard]] array_shape shape() const noexcept { return {samples_, row_elements_}; }
  [[nodiscard]] const T* data() const noexcept { return values_; }
  [[nodiscard]] std::span<const T> values() const noexcept {
    return {values_, samples_ * row_elements_};
  }
  /// Of the same shape: 1 for an element of the sample, 0 for padding.
  [[nodiscard]] std::span<const std::uint8_t> mask() const noexcept {
    return {mask_, samples_ * row_elements_};
  }
  /// The number of elements of each sample.
  [[nodiscard]] std::span<const std::int64_t> lengths() const noexcept {
    return {lengths_, samples_};
  }
  /// Row `i` with its padding. Precondition: `i < size()`.
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    return {values_ + i * row_elements_, row_elements_};
  }
  /// The elements of sample `i`. Precondition: `i < size()`; lengths in host memory.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const noexcept {
    return {values_ + i * row_elements_, static_cast<std::size_t>(lengths_[i])};
  }

 private:
  const T* values_ = nullptr;
  const std::uint8_t* mask_ = nullptr;
  const std::int64_t* lengths_ = nullptr;
  std::size_t samples_ = 0;
  std::size_t row_elements_ = 0;
};

/// A packed column: rows of one length with the sequences of several samples in each.
template <class T>
class packed_view {
 public:
  packed_view() = default;
  packed_view(const T* values, std::size_t rows, std::size_t row_elements) noexcept
      : values_(values), rows_(rows), row_elements_(row_elements) {}

  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// {rows, elements of a row}.
  [[nodiscard]] array_shape shape() const noexcept { return {rows_, row_elements_}; }
  [[nodiscard]] const T* data() const noexcept { return values_; }
  [[nodiscard]] std::span<const T> values() const noexcept {
    return {values_, rows_ * row_elements_};
  }
  /// Precondition: `i < rows()`.
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    return {values_ + i * row_elements_, row_elements_};
  }

 private:
  const T* values_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t row_elements_ = 0;
};

/// The sequences in the rows of a packed batch, in the form that attention over sequences of
/// varying length takes. A run is the sequence of one sample, a piece of it, or the padding at the
/// end of a row.
struct packing_view {
  std::size_t rows = 0;
  std::size_t row_elements = 0;
  /// Where each run of the block of rows * row_elements begins, and the block's end.
  std::span<const std::int32_t> cu_seqlens{};
  /// For each element of the block, its position in its run, from 0.
  std::span<const std::int32_t> position_ids{};
  /// For each element of the block, the number of its sample in the batch; -1 for padding.
  std::span<const std::int32_t> segment_ids{};
};

}  // namespace mdstream::inline v0
