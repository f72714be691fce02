#pragma once

/// What `batch.get` returns: views of one column of a batch, all with the same words.
///
/// - A view is a random-access range of the values of the batch's samples (of rows, if packed):
///   `size()` of them, `view[i]`, `begin()` and `end()`.
/// - `values()` are the elements of all of them, one after the other; `data()` is where they begin.
/// - `shape()` are the extents of `values()`, outermost first, for all but ragged columns.
///
/// Lifetime: views own nothing and are valid as long as the batch, on the stream that `ready_on`
/// was called with. Device memory: `data()`, `size()` and `shape()` may be used anywhere; elements,
/// and what is found by offsets, lengths and runs, only where the data is in host memory.

#include <mdstream/core/detail/view_iterator.hpp>
#include <mdstream/format/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// A column of numbers: one for each sample. A contiguous range of `T`, valid as long as the batch.
///
///     for (const std::int64_t label : batch.get<"label">()) ++seen[label];
template <class T>
class scalar_view {
 public:
  scalar_view() = default;
  scalar_view(const T* data, std::size_t samples) noexcept : data_(data), samples_(samples) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }
  /// The number of sample `i`. Precondition: `i < size()`.
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + samples_; }

  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {data_, samples_}; }
  /// {samples}.
  [[nodiscard]] array_shape shape() const noexcept { return {samples_}; }

 private:
  const T* data_ = nullptr;
  std::size_t samples_ = 0;
};

/// A column of arrays of one shape: one for each sample, in C order, without gaps. A range of
/// `std::span<const T>`, valid as long as the batch.
///
///     const auto pixels = batch.get<"pixels">();  // pixels.shape(): {samples, 3, 224, 224}
///     for (const std::span<const float> image : pixels) sum += image[0];
template <class T>
class dense_view {
 public:
  using iterator = detail::view_iterator<dense_view>;

  dense_view() = default;
  /// `element` is the shape of one sample's value; it has to outlive the view.
  dense_view(const T* data, std::size_t samples, const array_shape& element) noexcept
      : data_(data), samples_(samples), width_(element.elements()), element_(&element) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }
  /// The elements of sample `i`. Precondition: `i < size()`.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const noexcept {
    return {data_ + i * width_, width_};
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, samples_}; }

  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {data_, samples_ * width_}; }
  /// {samples, extents of one value ...}.
  [[nodiscard]] array_shape shape() const noexcept {
    array_shape extents{samples_};
    if (element_ != nullptr)
      for (const std::uint64_t extent : *element_) extents.push_back(extent);
    return extents;
  }

 private:
  const T* data_ = nullptr;
  std::size_t samples_ = 0;
  std::size_t width_ = 0;
  const array_shape* element_ = nullptr;
};

/// A column of values of any size: their elements back to back, and where each sample begins. A
/// range of `std::span<const T>`, of `std::string_view` for texts, whose `T` is `char`. Valid as
/// long as the batch.
///
///     for (const std::string_view text : batch.get<"text">()) characters += text.size();
template <class T>
class ragged_view {
 public:
  using iterator = detail::view_iterator<ragged_view>;

  ragged_view() = default;
  ragged_view(const T* values, std::size_t value_count, const std::int64_t* offsets,
              std::size_t samples) noexcept
      : values_(values), value_count_(value_count), offsets_(offsets), samples_(samples) {}

  /// Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return samples_; }
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }
  /// The elements of sample `i`. Precondition: `i < size()`.
  [[nodiscard]] auto operator[](std::size_t i) const noexcept {
    const auto begin = static_cast<std::size_t>(offsets_[i]);
    const auto count = static_cast<std::size_t>(offsets_[i + 1]) - begin;
    if constexpr (std::is_same_v<T, char>) {
      return std::string_view(values_ + begin, count);
    } else {
      return std::span<const T>(values_ + begin, count);
    }
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, samples_}; }

  [[nodiscard]] const T* data() const noexcept { return values_; }
  [[nodiscard]] std::span<const T> values() const noexcept { return {values_, value_count_}; }
  /// `size() + 1` element numbers: sample `i` is `values()[offsets()[i] .. offsets()[i + 1])`.
  [[nodiscard]] std::span<const std::int64_t> offsets() const noexcept {
    return {offsets_, samples_ + 1};
  }

 private:
  const T* values_ = nullptr;
  std::size_t value_count_ = 0;
  const std::int64_t* offsets_ = nullptr;
  std::size_t samples_ = 0;
};

/// A column of values of any size in rows of one length, a row for each sample. A range of
/// `std::span<const T>` without the padding, valid as long as the batch.
///
///     const auto tokens = batch.get<"tokens">();
///     model(tokens.data(), tokens.mask().data(), tokens.shape()[0], tokens.shape()[1]);
template <class T>
class padded_view {
 public:
  using iterator = detail::view_iterator<padded_view>;

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
  [[nodiscard]] bool empty() const noexcept { return samples_ == 0; }
  /// The elements of sample `i`, without padding. Precondition: `i < size()`.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const noexcept {
    return {values_ + i * row_elements_, static_cast<std::size_t>(lengths_[i])};
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, samples_}; }
  /// Row `i` with its padding. Precondition: `i < size()`.
  [[nodiscard]] std::span<const T> row(std::size_t i) const noexcept {
    return {values_ + i * row_elements_, row_elements_};
  }

  [[nodiscard]] const T* data() const noexcept { return values_; }
  /// All rows, with their padding.
  [[nodiscard]] std::span<const T> values() const noexcept {
    return {values_, samples_ * row_elements_};
  }
  /// {samples, elements of a row}.
  [[nodiscard]] array_shape shape() const noexcept { return {samples_, row_elements_}; }
  /// For each of `values()`: 1 for an element of the sample, 0 for padding.
  [[nodiscard]] std::span<const std::uint8_t> mask() const noexcept {
    return {mask_, samples_ * row_elements_};
  }
  /// The number of elements of each sample.
  [[nodiscard]] std::span<const std::int64_t> lengths() const noexcept {
    return {lengths_, samples_};
  }

 private:
  const T* values_ = nullptr;
  const std::uint8_t* mask_ = nullptr;
  const std::int64_t* lengths_ = nullptr;
  std::size_t samples_ = 0;
  std::size_t row_elements_ = 0;
};

/// A packed column: rows of one length with the sequences of several samples in each. A range of
/// rows, `std::span<const T>`; `batch.packing()` says which element is of which sample. Valid as
/// long as the batch.
///
///     const auto tokens = batch.get<"tokens">();
///     attention(tokens.data(), batch.packing().cu_seqlens(), tokens.shape());
template <class T>
class packed_view {
 public:
  using iterator = detail::view_iterator<packed_view>;

  packed_view() = default;
  packed_view(const T* values, std::size_t rows, std::size_t row_elements) noexcept
      : values_(values), rows_(rows), row_elements_(row_elements) {}

  /// Number of rows.
  [[nodiscard]] std::size_t size() const noexcept { return rows_; }
  [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
  /// Row `i`. Precondition: `i < size()`.
  [[nodiscard]] std::span<const T> operator[](std::size_t i) const noexcept {
    return {values_ + i * row_elements_, row_elements_};
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, rows_}; }

  [[nodiscard]] const T* data() const noexcept { return values_; }
  [[nodiscard]] std::span<const T> values() const noexcept {
    return {values_, rows_ * row_elements_};
  }
  /// {rows, elements of a row}.
  [[nodiscard]] array_shape shape() const noexcept { return {rows_, row_elements_}; }

 private:
  const T* values_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t row_elements_ = 0;
};

/// One run of a packed batch: the sequence of one sample, a piece of it, or the padding at the end
/// of a row. Its elements are `values().subspan(begin, size)` of every packed column.
struct packed_run {
  std::size_t begin = 0;
  std::size_t size = 0;
  std::int32_t sample = -1;  ///< its number in the batch; -1 for padding

  [[nodiscard]] bool is_padding() const noexcept { return sample < 0; }
  friend bool operator==(const packed_run&, const packed_run&) = default;
};

/// The runs in the rows of a packed batch, and the same in the form that attention over sequences
/// of varying length takes. A range of `packed_run`, valid as long as the batch.
///
///     for (const mds::packed_run& run : batch.packing())
///       if (!run.is_padding()) train(tokens.values().subspan(run.begin, run.size));
class packing_view {
 public:
  using iterator = detail::view_iterator<packing_view>;

  packing_view() = default;
  packing_view(std::size_t rows, std::size_t row_elements, std::span<const std::int32_t> cu_seqlens,
               std::span<const std::int32_t> position_ids,
               std::span<const std::int32_t> segment_ids) noexcept
      : rows_(rows),
        row_elements_(row_elements),
        cu_seqlens_(cu_seqlens),
        position_ids_(position_ids),
        segment_ids_(segment_ids) {}

  /// Number of runs.
  [[nodiscard]] std::size_t size() const noexcept {
    return cu_seqlens_.empty() ? 0 : cu_seqlens_.size() - 1;
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// Run `i`. Precondition: `i < size()`.
  [[nodiscard]] packed_run operator[](std::size_t i) const noexcept {
    const auto begin = static_cast<std::size_t>(cu_seqlens_[i]);
    return {.begin = begin,
            .size = static_cast<std::size_t>(cu_seqlens_[i + 1]) - begin,
            .sample = segment_ids_[begin]};
  }
  [[nodiscard]] iterator begin() const noexcept { return {*this, 0}; }
  [[nodiscard]] iterator end() const noexcept { return {*this, size()}; }

  /// {rows, elements of a row}.
  [[nodiscard]] array_shape shape() const noexcept { return {rows_, row_elements_}; }
  /// `size() + 1` element numbers: where each run of the block of rows begins, and the block's end.
  [[nodiscard]] std::span<const std::int32_t> cu_seqlens() const noexcept { return cu_seqlens_; }
  /// For each element of the block, its position in its run, from 0.
  [[nodiscard]] std::span<const std::int32_t> position_ids() const noexcept {
    return position_ids_;
  }
  /// For each element of the block, the number of its sample in the batch; -1 for padding.
  [[nodiscard]] std::span<const std::int32_t> segment_ids() const noexcept { return segment_ids_; }

 private:
  std::size_t rows_ = 0;
  std::size_t row_elements_ = 0;
  std::span<const std::int32_t> cu_seqlens_{};
  std::span<const std::int32_t> position_ids_{};
  std::span<const std::int32_t> segment_ids_{};
};

}  // namespace mdstream::inline v0
/// @cond
// As of <span>: copies are cheap, and iterators outlive the view that gave them.
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::scalar_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::dense_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::ragged_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::padded_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::packed_view<T>> = true;
template <>
inline constexpr bool std::ranges::enable_view<mdstream::packing_view> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::scalar_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::dense_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::ragged_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::padded_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::packed_view<T>> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::packing_view> = true;
/// @endcond
