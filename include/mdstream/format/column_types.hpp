#pragma once

/// The encodings as C++ types: what a compile-time schema is written with, the views that reading
/// gives, and the values that writing takes.
///
///     using rows = mds::schema<mds::column<"id", mds::int_>, mds::column<"score", float>,
///                              mds::column<"text", mds::str>, mds::column<"image", mds::jpeg>,
///                              mds::column<"tokens", mds::ndarray<std::uint16_t, 2048>>>;

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/encoding.hpp>
#include <mdstream/format/images.hpp>
#include <mdstream/format/ndarray.hpp>
#include <mdstream/format/text_numbers.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

// Column types. Scalars stand for themselves: std::uint8_t ... std::int64_t, float16, float,
// double.

struct bytes;        ///< bytes: read as bytes_view
struct str;          ///< text in UTF-8: read as std::string_view, checked
struct int_;         ///< Python's int in 64 bits: read as std::int64_t
struct str_int;      ///< an integer of any size: read as json::big_integer
struct str_float;    ///< a double as text: read as double
struct str_decimal;  ///< Python's Decimal: read as decimal
struct json_text;    ///< JSON: read as its text, std::string_view, checked
struct pil;          ///< an image's pixels: read as pil_image
struct jpeg;         ///< a JPEG file: read as its bytes
struct png;          ///< a PNG file: read as its bytes
struct jpeg_array;   ///< JPEG files: read as image_files
struct pkl;          ///< a Python pickle: read as its bytes, never executed

/// A list of images, for T = pil, jpeg and png: read as std::vector<pil_image> or image_files.
template <class T>
struct list;

/// An array. `ndarray<T, D...>` fixes element type and shape (read as `unaligned_view<T>`),
/// `ndarray<T>` the type (read as `ndarray_view<T>`), `ndarray<>` neither (read as `any_ndarray`).
template <class T = void, std::uint64_t... Dims>
struct ndarray;

namespace detail {

/// A value ready to be copied into a sample.
struct encoded_bytes {
  bytes_view body;
  [[nodiscard]] std::size_t size() const noexcept { return body.size(); }
  void copy_to(std::byte* out) const noexcept {
    if (!body.empty()) std::memcpy(out, body.data(), body.size());
  }
};

template <class T>
struct encoded_scalar {
  T value;
  [[nodiscard]] static constexpr std::size_t size() noexcept { return sizeof(T); }
  void copy_to(std::byte* out) const noexcept { store_to(out, value); }
};

struct encoded_text {
  std::string text;
  [[nodiscard]] std::size_t size() const noexcept { return text.size(); }
  void copy_to(std::byte* out) const noexcept { std::memcpy(out, text.data(), text.size()); }
};

struct encoded_array {
  ndarray_header header;
  bytes_view elements;
  [[nodiscard]] std::size_t size() const noexcept { return header.size + elements.size(); }
  void copy_to(std::byte* out) const noexcept {
    std::memcpy(out, header.bytes.data(), header.size);
    std::memcpy(out + header.size, elements.data(), elements.size());
  }
};

/// A contiguous range that knows its size. Not by the concepts of <ranges>, which is large.
template <class V>
concept span_range = requires(const V& value) { std::span(value); };

template <span_range V>
using element_of =
    std::remove_cv_t<typename decltype(std::span(std::declval<const V&>()))::element_type>;

template <class V>
concept byte_string = span_range<V> && std::same_as<element_of<V>, std::byte>;

template <byte_string V>
[[nodiscard]] bytes_view bytes_of(const V& value) noexcept {
  return std::span(value);
}

/// A byte string in place of a value is stored as it is; in a column of fixed size its length has
/// to be right.
[[nodiscard]] inline encoded_bytes encode_verbatim(const encoding& type, bytes_view value) {
  if (const auto size = fixed_size(type); size && *size != value.size())
    throw error(errc::invalid_argument, std::to_string(value.size()) +
                                            " bytes do not go into a column of " +
                                            std::to_string(*size) + " bytes");
  return {value};
}

/// What goes into a column of `T`: any number into a float, integers and bool into an integer.
template <class V, class T>
concept scalar_for =
    std::is_integral_v<V> ||
    ((std::is_floating_point_v<V> || std::same_as<V, float16>) && !std::is_integral_v<T>);

/// The bits of a number that count: of its mantissa, or of an integer without its sign.
template <class T>
inline constexpr int significant_bits = std::numeric_limits<T>::digits;
template <>
inline constexpr int significant_bits<float16> = 11;

/// Converts to the column's type. Integers out of its range are refused.
template <element T, scalar_for<T> V>
[[nodiscard]] T scalar_from(V value) {
  if constexpr (std::same_as<V, T>) {
    return value;
  } else if constexpr (std::same_as<T, float16>) {
    return float16(static_cast<double>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else {
    using wide = std::conditional_t<std::is_same_v<V, bool>, unsigned, V>;
    if (!std::in_range<T>(static_cast<wide>(value)))
      throw error(errc::invalid_argument, std::to_string(value) + " does not fit into " +
                                              std::string(mdstream::to_string(dtype_of<T>)));
    return static_cast<T>(value);
  }
}

// Not inlined, so that what reads an array is.
[[noreturn, gnu::noinline]] inline void fail_array_size(std::size_t bytes, std::uint64_t expected) {
  throw error(errc::corrupt, std::to_string(bytes) + " bytes are not the " +
                                 std::to_string(expected) + " bytes of the array");
}

[[nodiscard]] inline std::string_view checked_text(bytes_view value) {
  const std::string_view text = as_text(value);
  if (const std::size_t bad = first_invalid_utf8(text); bad != text.size())
    throw error(errc::corrupt, diagnostics{.what = "a text is not UTF-8", .byte = bad});
  return text;
}

template <encoding_kind Kind>
struct plain_bytes_type {
  static constexpr encoding type{.kind = Kind};
  using view = bytes_view;
  [[nodiscard]] static view decode(bytes_view value) noexcept { return value; }
  template <byte_string V>
  [[nodiscard]] static encoded_bytes encode(const V& value) {
    return {bytes_of(value)};
  }
};

template <element T>
inline constexpr encoding_kind scalar_kind = [] {
  switch (dtype_of<T>) {
    case dtype::uint8: return encoding_kind::uint8;
    case dtype::int8: return encoding_kind::int8;
    case dtype::uint16: return encoding_kind::uint16;
    case dtype::int16: return encoding_kind::int16;
    case dtype::float16: return encoding_kind::float16;
    case dtype::uint32: return encoding_kind::uint32;
    case dtype::int32: return encoding_kind::int32;
    case dtype::float32: return encoding_kind::float32;
    case dtype::uint64: return encoding_kind::uint64;
    case dtype::int64: return encoding_kind::int64;
    default: return encoding_kind::float64;
  }
}();

template <element T, encoding_kind Kind>
struct scalar_type {
  static constexpr encoding type{.kind = Kind};
  using view = T;
  [[nodiscard]] static T decode(bytes_view value) {
    if (value.size() != sizeof(T))
      throw error(errc::corrupt, std::to_string(value.size()) + " bytes are not one " +
                                     std::string(mdstream::to_string(dtype_of<T>)));
    return load<T>(value.data());
  }
  template <scalar_for<T> V>
  [[nodiscard]] static encoded_scalar<T> encode(V value) {
    return {scalar_from<T>(value)};
  }
  template <byte_string V>
  [[nodiscard]] static encoded_bytes encode(const V& value) {
    return encode_verbatim(type, bytes_of(value));
  }
};

template <encoding_kind Kind>
struct text_type {
  static constexpr encoding type{.kind = Kind};
  using view = std::string_view;
  [[nodiscard]] static view decode(bytes_view value) { return checked_text(value); }
  [[nodiscard]] static encoded_bytes encode(std::string_view text) {
    if (const std::size_t bad = first_invalid_utf8(text); bad != text.size())
      throw error(errc::invalid_argument, diagnostics{.what = "a text is not UTF-8", .byte = bad});
    return {as_bytes(text)};
  }
  template <byte_string V>
  [[nodiscard]] static encoded_bytes encode(const V& value) {
    return {bytes_of(value)};
  }
};

/// JSON text, checked.
[[nodiscard]] inline std::string_view checked_json(bytes_view value) {
  const std::string_view text = checked_text(value);
  json::reader in(text);
  (void)in.skip();
  in.finish();
  return text;
}

template <encoding_kind Kind>
struct taking_bytes {
  static constexpr encoding type{.kind = Kind};
  template <byte_string V>
  [[nodiscard]] static encoded_bytes encode(const V& value) {
    return {bytes_of(value)};
  }
};

template <encoding_kind Kind>
struct image_files_type : taking_bytes<Kind> {
  using taking_bytes<Kind>::encode;
  using view = image_files;
  [[nodiscard]] static view decode(bytes_view value) {
    return Kind == encoding_kind::jpeg_array ? parse_jpeg_array(value) : parse_image_list(value);
  }
  [[nodiscard]] static encoded_text encode(const image_files& files) {
    return {Kind == encoding_kind::jpeg_array ? make_jpeg_array(files) : make_image_list(files)};
  }
};

/// What goes into an array of `T`: its elements alone, or any where the array brings its own dtype.
template <class V, class T>
concept element_for = element<V> && (std::is_void_v<T> || std::same_as<V, T>);

/// What all ndarray types share. `type` is static, because views refer to its shape.
template <const encoding& Type, class T>
struct ndarray_type {
  static constexpr const encoding& type = Type;

  [[nodiscard]] static encoded_array encode(const any_ndarray& value) {
    return {make_ndarray_header(Type, value.type(), value.shape()), value.bytes()};
  }
  template <element V>
    requires(!element_for<V, T>)
  static encoded_array encode(const ndarray_view<V>& value) = delete;
  /// A flat range: of the column's shape if it has one, else of one dimension.
  template <span_range V>
    requires(element_for<element_of<V>, T>)
  [[nodiscard]] static encoded_array encode(const V& values) {
    return encode_flat(dtype_of<element_of<V>>, std::as_bytes(std::span(values)));
  }
  template <element_for<T> V>
  [[nodiscard]] static encoded_array encode(const unaligned_view<V>& values) {
    return encode_flat(dtype_of<V>, values.bytes());
  }
  template <byte_string V>
  [[nodiscard]] static encoded_bytes encode(const V& value) {
    return encode_verbatim(Type, bytes_of(value));
  }

 private:
  static encoded_array encode_flat(dtype elements, bytes_view values) {
    const std::uint64_t count = values.size() / size_of(elements);
    if (!Type.dims.empty() && count == Type.dims.elements())
      return {make_ndarray_header(Type, elements, Type.dims), values};
    return {make_ndarray_header(Type, elements, array_shape{count}), values};
  }
};

template <class T, std::uint64_t... Dims>
inline constexpr encoding ndarray_encoding{
    .kind = encoding_kind::ndarray, .type = dtype_of<T>, .dims = array_shape{Dims...}};

}  // namespace detail

/// How values of a column type are read and written. Each has `type`, the encoding; `view`, what
/// reading gives; `decode(bytes)`; and overloads of `encode(value)`. Byte strings are taken by
/// every type and stored as they are.
template <class T>
struct column_traits;

template <element T>
struct column_traits<T> : detail::scalar_type<T, detail::scalar_kind<T>> {};
template <>
struct column_traits<int_> : detail::scalar_type<std::int64_t, encoding_kind::int_> {};
template <>
struct column_traits<bytes> : detail::plain_bytes_type<encoding_kind::bytes> {};
template <>
struct column_traits<str> : detail::text_type<encoding_kind::str> {};
template <>
struct column_traits<str_int> : detail::taking_bytes<encoding_kind::str_int> {
  using taking_bytes::encode;
  using view = json::big_integer;
  [[nodiscard]] static view decode(bytes_view value) {
    if (auto parsed = parse_python_int(detail::checked_text(value))) return *std::move(parsed);
    throw error(errc::corrupt, "a text is not an integer");
  }
  template <std::integral V>
    requires(!std::same_as<V, bool>)
  [[nodiscard]] static detail::encoded_text encode(V value) {
    return {std::to_string(value)};
  }
  [[nodiscard]] static detail::encoded_text encode(const json::big_integer& value) {
    if (const auto parsed = parse_python_int(value.digits)) return {parsed->digits};
    throw error(errc::invalid_argument, "a text is not an integer");
  }
};

template <>
struct column_traits<str_float> : detail::taking_bytes<encoding_kind::str_float> {
  using taking_bytes::encode;
  using view = double;
  [[nodiscard]] static view decode(bytes_view value) {
    if (const auto parsed = detail::parse_python_float(detail::checked_text(value))) return *parsed;
    throw error(errc::corrupt, "a text is not a number");
  }
  [[nodiscard]] static detail::encoded_text encode(double value) {
    detail::encoded_text out;
    json::append_repr(out.text, value);
    return out;
  }
};

template <>
struct column_traits<str_decimal> : detail::taking_bytes<encoding_kind::str_decimal> {
  using taking_bytes::encode;
  using view = decimal;
  [[nodiscard]] static view decode(bytes_view value) {
    if (auto parsed = parse_decimal(detail::checked_text(value))) return *std::move(parsed);
    throw error(errc::corrupt, "a text is not a decimal number");
  }
  [[nodiscard]] static detail::encoded_text encode(const decimal& value) {
    return {to_string(value)};
  }
};

template <>
struct column_traits<json_text> : detail::taking_bytes<encoding_kind::json> {
  using taking_bytes::encode;
  using view = std::string_view;
  [[nodiscard]] static view decode(bytes_view value) { return detail::checked_json(value); }
  /// JSON text, which is stored as Python's json.dumps would have it. A template, as a std::string
  /// could also become a value.
  template <std::convertible_to<std::string_view> V>
  [[nodiscard]] static detail::encoded_text encode(const V& text) {
    try {
      return encode(json::parse(std::string_view(text)));
    } catch (const error& e) {
      throw error(errc::invalid_argument, e.where());
    }
  }
  [[nodiscard]] static detail::encoded_text encode(const json::value& value) {
    return {json::dump(value)};
  }
};

template <>
struct column_traits<pil> : detail::taking_bytes<encoding_kind::pil> {
  using taking_bytes::encode;
  using view = pil_image;
  [[nodiscard]] static view decode(bytes_view value) { return parse_pil(value); }
  [[nodiscard]] static detail::encoded_text encode(const pil_image& image) {
    detail::encoded_text out;
    append_pil(out.text, image);
    return out;
  }
};

template <>
struct column_traits<list<pil>> : detail::taking_bytes<encoding_kind::list_pil> {
  using taking_bytes::encode;
  using view = std::vector<pil_image>;
  [[nodiscard]] static view decode(bytes_view value) { return parse_pil_list(value); }
  [[nodiscard]] static detail::encoded_text encode(const view& images) {
    return {make_pil_list(images)};
  }
};

template <>
struct column_traits<jpeg_array> : detail::image_files_type<encoding_kind::jpeg_array> {};
template <>
struct column_traits<list<jpeg>> : detail::image_files_type<encoding_kind::list_jpeg> {};
template <>
struct column_traits<list<png>> : detail::image_files_type<encoding_kind::list_png> {};
template <>
struct column_traits<jpeg> : detail::plain_bytes_type<encoding_kind::jpeg> {};
template <>
struct column_traits<png> : detail::plain_bytes_type<encoding_kind::png> {};
template <>
struct column_traits<pkl> : detail::plain_bytes_type<encoding_kind::pkl> {};

template <>
struct column_traits<ndarray<>> : detail::ndarray_type<detail::ndarray_encoding<void>, void> {
  using view = any_ndarray;
  [[nodiscard]] static view decode(bytes_view value) { return parse_ndarray(type, value); }
};

template <element T>
struct column_traits<ndarray<T>> : detail::ndarray_type<detail::ndarray_encoding<T>, T> {
  using view = ndarray_view<T>;
  [[nodiscard]] static view decode(bytes_view value) {
    return view(parse_ndarray(detail::ndarray_encoding<T>, value));
  }
};

template <element T, std::uint64_t... Dims>
  requires(sizeof...(Dims) > 0)
struct column_traits<ndarray<T, Dims...>>
    : detail::ndarray_type<detail::ndarray_encoding<T, Dims...>, T> {
  static_assert(((Dims > 0) && ...), "an array's extents are positive");
  using view = unaligned_view<T>;
  [[nodiscard]] static view decode(bytes_view value) {
    constexpr std::uint64_t expected = (sizeof(T) * ... * Dims);
    if (value.size() != expected) detail::fail_array_size(value.size(), expected);
    return view(value);
  }
};

/// A type that a schema's column can have.
template <class T>
concept column_type = requires(bytes_view value) {
  { column_traits<T>::type } -> std::convertible_to<encoding>;
  { column_traits<T>::decode(value) } -> std::same_as<typename column_traits<T>::view>;
  column_traits<T>::encode(value);
};

/// A value that can be written to a column of type `T`.
template <class V, class T>
concept writable_as = requires(const V& value) { column_traits<T>::encode(value); };

}  // namespace mdstream::inline v0
