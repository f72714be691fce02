#pragma once

/// Values of the encoding `ndarray`: an array with its own, or its column's, dtype and shape.
///
/// The bytes are: the dtype's id, if the column does not fix it; `(rank << 2) | w` and `rank`
/// unsigned integers of 2^w bytes, if the column does not fix the shape; the elements in C order,
/// little-endian.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/encoding.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// An array of any dtype and shape in memory of any alignment. Owns nothing: valid as long as the
/// bytes that it was parsed from and, for columns of static shape, the column's encoding.
///
///     const auto array = sample.get<mds::any_ndarray>("x");  // array.type(), array.shape()
///     for (const float value : array.values<float>()) sum += value;
class any_ndarray {
 public:
  any_ndarray() = default;
  /// `extents` and the bytes have to agree; see `parse_ndarray` for bytes from outside.
  any_ndarray(dtype type, const array_shape& extents, bytes_view values) noexcept
      : type_(type),
        rank_(static_cast<std::uint8_t>(extents.rank())),
        fixed_(&extents),
        values_(values) {}
  any_ndarray(dtype, const array_shape&&, bytes_view) = delete;  // which would be gone
  /// Extents as in an MDS header: `rank` integers of `2^width` bytes.
  any_ndarray(dtype type, const std::byte* extents, std::uint8_t rank, std::uint8_t width,
              bytes_view values) noexcept
      : type_(type), rank_(rank), width_(width), extents_(extents), values_(values) {}

  [[nodiscard]] dtype type() const noexcept { return type_; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }

  /// Extent `i`, outermost first. Precondition: i < rank().
  [[nodiscard]] std::uint64_t extent(std::size_t i) const noexcept {
    if (fixed_ != nullptr) return (*fixed_)[i];
    switch (width_) {
      case 0: return load<std::uint8_t>(extents_ + i);
      case 1: return load<std::uint16_t>(extents_ + 2 * i);
      case 2: return load<std::uint32_t>(extents_ + 4 * i);
      default: return load<std::uint64_t>(extents_ + 8 * i);
    }
  }

  [[nodiscard]] array_shape shape() const noexcept {
    array_shape out;
    for (std::size_t i = 0; i < rank_; ++i) out.push_back(extent(i));
    return out;
  }

  /// Number of elements.
  [[nodiscard]] std::size_t size() const noexcept { return values_.size() / size_of(type_); }
  /// The elements, C order, little-endian.
  [[nodiscard]] bytes_view bytes() const noexcept { return values_; }

  /// The elements as `T`. Throws errc::schema_mismatch if they are of another dtype.
  template <element T>
  [[nodiscard]] unaligned_view<T> values() const {
    if (type_ != dtype_of<T>)
      throw error(errc::schema_mismatch, "the array's elements are " +
                                             std::string(to_string(type_)) + ", not " +
                                             std::string(to_string(dtype_of<T>)));
    return unaligned_view<T>(values_);
  }

 private:
  dtype type_ = dtype::uint8;
  std::uint8_t rank_ = 0;
  std::uint8_t width_ = 0;
  const std::byte* extents_ = nullptr;
  const array_shape* fixed_ = nullptr;
  bytes_view values_;
};

/// An array of elements `T`, known from the column: a random-access range of its elements in C
/// order. Owns nothing: valid as an `any_ndarray` is.
///
///     for (const std::uint16_t token : sample.get<"tokens">()) sum += token;
template <element T>
class ndarray_view : public any_ndarray {
 public:
  using value_type = T;
  using iterator = typename unaligned_view<T>::iterator;

  ndarray_view() = default;
  /// Precondition: the array's elements are `T`.
  explicit ndarray_view(const any_ndarray& array) noexcept : any_ndarray(array) {}

  [[nodiscard]] bool empty() const noexcept { return bytes().empty(); }
  /// Element `i`. Precondition: `i < size()`.
  [[nodiscard]] T operator[](std::size_t i) const noexcept { return all()[i]; }
  [[nodiscard]] iterator begin() const noexcept { return all().begin(); }
  [[nodiscard]] iterator end() const noexcept { return all().end(); }

 private:
  [[nodiscard]] unaligned_view<T> all() const noexcept { return unaligned_view<T>(bytes()); }
};

namespace detail {

/// The product of the array's extents; the largest value where it does not fit.
[[nodiscard]] inline std::uint64_t count_elements(const any_ndarray& array) noexcept {
  std::uint64_t product = 1;
  bool too_large = false;
  for (std::size_t i = 0; i < array.rank(); ++i) {
    const std::uint64_t extent = array.extent(i);
    if (extent == 0) return 0;
    too_large = __builtin_mul_overflow(product, extent, &product) || too_large;
  }
  return too_large ? std::numeric_limits<std::uint64_t>::max() : product;
}

[[noreturn]] inline void fail_ndarray(std::string what, std::size_t byte) {
  throw error(errc::corrupt, diagnostics{.what = std::move(what), .byte = byte});
}

}  // namespace detail

/// Parses the bytes of a value of a column with the encoding `type`, which has to be an ndarray and
/// outlive the result. O(rank).
/// Throws errc::corrupt, naming the byte within the value, if header and bytes do not agree.
[[nodiscard]] inline any_ndarray parse_ndarray(const encoding& type, bytes_view value) {
  std::size_t at = 0;
  dtype elements = type.type;
  if (elements == dtype::none) {
    if (value.empty()) detail::fail_ndarray("the array's dtype is missing", 0);
    const auto id = load<std::uint8_t>(value.data());
    const std::optional<dtype> found = find_dtype(id);
    if (!found) detail::fail_ndarray("no dtype has the id " + std::to_string(id), 0);
    elements = *found;
    at = 1;
  }
  any_ndarray out;
  if (!type.dims.empty()) {
    out = any_ndarray(elements, type.dims, value.subspan(at));
  } else {
    if (value.size() <= at) detail::fail_ndarray("the array's shape is missing", at);
    const auto head = load<std::uint8_t>(value.data() + at);
    const auto rank = static_cast<std::uint8_t>(head >> 2);
    const auto width = static_cast<std::uint8_t>(head & 3U);
    const std::size_t extents = static_cast<std::size_t>(rank) << width;
    if (value.size() - at - 1 < extents) detail::fail_ndarray("the array's shape is cut short", at);
    out =
        any_ndarray(elements, value.data() + at + 1, rank, width, value.subspan(at + 1 + extents));
    at += 1 + extents;
  }
  const std::size_t each = size_of(elements);
  if (out.bytes().size() % each != 0 || out.bytes().size() / each != detail::count_elements(out))
    detail::fail_ndarray(std::to_string(out.bytes().size()) + " bytes are not the " +
                             std::string(to_string(elements)) + " elements of shape (" +
                             to_string(out.shape()) + ")",
                         at);
  return out;
}

/// The header of an array's value, before its elements.
struct ndarray_header {
  std::array<std::byte, 2 + 8 * array_shape::max_rank> bytes{};
  std::size_t size = 0;
};

/// Makes the header for an array of `elements` and `extents` in a column with the encoding `type`.
/// Throws errc::invalid_argument in the order of the format's checks: another dtype than the
/// column's, no elements, rank 0 or above 63, another shape than the column's.
[[nodiscard]] inline ndarray_header make_ndarray_header(const encoding& type, dtype elements,
                                                        const array_shape& extents) {
  const auto refuse = [](std::string what) {
    throw error(errc::invalid_argument, std::move(what));
  };
  if (elements == dtype::none) refuse("an array has a dtype");
  if (type.type != dtype::none && type.type != elements)
    refuse("an array of " + std::string(to_string(elements)) + " does not go into a column of " +
           std::string(to_string(type.type)));
  if (extents.elements() == 0) refuse("an array without elements can not be stored");
  ndarray_header out;
  if (type.type == dtype::none) out.bytes[out.size++] = static_cast<std::byte>(elements);
  if (!type.dims.empty()) {
    if (!(type.dims == extents))
      refuse("an array of shape (" + to_string(extents) + ") does not go into a column of shape (" +
             to_string(type.dims) + ")");
    return out;
  }
  if (extents.empty()) refuse("a single value is no array");
  if (extents.rank() > 63) refuse("an array can not have more than 63 dimensions");
  std::uint64_t largest = 0;
  for (const std::uint64_t extent : extents) largest = extent > largest ? extent : largest;
  const unsigned width = largest < (1U << 8)    ? 0
                         : largest < (1U << 16) ? 1
                         : largest >> 32 == 0   ? 2
                                                : 3;
  out.bytes[out.size++] = static_cast<std::byte>(extents.rank() << 2 | width);
  for (const std::uint64_t extent : extents) {
    std::byte little[8];
    store_to(little, extent);
    for (std::size_t i = 0; i < (std::size_t{1} << width); ++i) out.bytes[out.size++] = little[i];
  }
  return out;
}

}  // namespace mdstream::inline v0
/// @cond
template <class T>
inline constexpr bool std::ranges::enable_view<mdstream::ndarray_view<T>> = true;
template <class T>
inline constexpr bool std::ranges::enable_borrowed_range<mdstream::ndarray_view<T>> = true;
/// @endcond
