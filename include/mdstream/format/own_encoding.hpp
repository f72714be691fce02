#pragma once

/// Encodings of your own: values that MDS does not define, or another C++ type for those that it
/// defines.
///
///     struct point {
///       static constexpr std::string_view name = "point";  // as the index has it
///       static constexpr std::uint64_t size = 8;           // bytes of every value
///       using view = std::array<float, 2>;                 // what reading gives
///       static view decode(mds::bytes_view value);
///       static std::string encode(const view& value);
///     };
///     using rows = mds::schema<mds::column<"at", point>>;

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/column_types.hpp>
#include <mdstream/format/encoding.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace mdstream::inline v0 {

/// An encoding of your own, to be used as the type of a column.
///
/// - `E::name`: the encoding in the index. Python reads the column if it registers an encoding of
///   this name. It does not begin with "ndarray:". The name of an encoding of MDS (`json`, `pkl`,
///   `jpeg`, ...) gives its values another C++ type; not for numbers and `ndarray`.
/// - `E::size`, optional: bytes of every value, below 4 GiB. Without it, or if it is 0, values vary
///   in size.
/// - `E::view` and `E::decode(bytes)`: what reading gives. Any thread calls it. With a `size`, it
///   gets as many bytes. What it throws becomes `errc::corrupt`, unless it is an `mds::error`.
/// - `E::encode(value)`, optional: the bytes of a value, as a range of `char` or `std::byte`. One
///   overload for each type that can be written. What it throws becomes `errc::invalid_argument`,
///   unless it is an `mds::error`.
///   Other ranges of `std::byte` are stored as they are.
///
/// In a batch such a column is its bytes: `dense` with a size, otherwise `ragged`.
template <class E>
concept own_encoding = requires(bytes_view value) {
  { E::name } -> std::convertible_to<std::string_view>;
  typename E::view;
  { E::decode(value) } -> std::same_as<typename E::view>;
};

namespace detail {

template <class E>
inline constexpr std::uint64_t own_size = 0;
template <class E>
  requires requires { E::size; }
inline constexpr std::uint64_t own_size<E> = std::uint64_t{E::size};

template <own_encoding E>
[[nodiscard]] constexpr encoding encoding_of_own() {
  if (const std::optional<encoding> known = find_encoding(E::name)) return *known;
  return other_encoding(own_size<E>);
}

/// What `E::encode` made.
template <class Made>
struct encoded_own {
  Made made;
  [[nodiscard]] bytes_view bytes() const noexcept { return std::as_bytes(std::span(made)); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes().size(); }
  void copy_to(std::byte* out) const noexcept {
    if (size() != 0) std::memcpy(out, bytes().data(), size());
  }
};

template <class V, class E>
concept encodable_as = requires(const V& value) {
  { E::encode(value) } -> span_range;
  requires sizeof(element_of<std::remove_cvref_t<decltype(E::encode(value))>>) == 1;
};

/// Turns exceptions that are no errors into errors of this code.
template <class Work>
decltype(auto) named_failure(errc code, std::string_view name, const Work& work) {
  try {
    return work();
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw error(code, "the encoding \"" + std::string(name) + "\" failed: " + e.what());
  } catch (...) {
    throw error(code,
                "the encoding \"" + std::string(name) + "\" failed: an exception of unknown type");
  }
}

}  // namespace detail

template <own_encoding E>
struct column_traits<E> {
  static constexpr std::string_view name = E::name;
  static constexpr encoding type = detail::encoding_of_own<E>();
  using view = typename E::view;

  static_assert(!name.empty(), "mdstream: an encoding needs a name");
  static_assert(type.kind == encoding_kind::other ||
                    (scalar_dtype(type.kind) == dtype::none && type.kind != encoding_kind::ndarray),
                "mdstream: numbers and ndarrays have their own column types");
  static_assert(type.kind == encoding_kind::other || detail::own_size<E> == 0,
                "mdstream: values of this encoding of MDS vary in size");
  // Datasets that break these could be written, but no reader takes their index.
  static_assert(type.kind != encoding_kind::other || !name.starts_with("ndarray:"),
                "mdstream: no dataset is read whose index has an ndarray that MDS does not define");
  static_assert(detail::own_size<E> <= 0xffff'ffff,
                "mdstream: values of this size do not fit in a shard");

  [[nodiscard]] static view decode(bytes_view value) {
    return detail::named_failure(errc::corrupt, name, [&]() -> view { return E::decode(value); });
  }

  template <detail::encodable_as<E> V>
  [[nodiscard]] static auto encode(const V& value) {
    using made_type = std::remove_cvref_t<decltype(E::encode(value))>;
    detail::encoded_own<made_type> out{detail::named_failure(
        errc::invalid_argument, name, [&]() -> made_type { return E::encode(value); })};
    if (detail::own_size<E> != 0 && out.size() != detail::own_size<E>)
      throw error(errc::invalid_argument,
                  "the encoding \"" + std::string(name) + "\" has values of " +
                      std::to_string(detail::own_size<E>) + " bytes, but made one of " +
                      std::to_string(out.size()));
    return out;
  }
  template <detail::byte_string V>
    requires(!detail::encodable_as<V, E>)
  [[nodiscard]] static detail::encoded_bytes encode(const V& value) {
    return detail::encode_verbatim(type, detail::bytes_of(value));
  }
};

namespace detail {

/// The text of a column type's encoding in an index.
template <class Traits>
[[nodiscard]] std::string encoding_text_of() {
  if constexpr (requires { Traits::name; })
    return std::string(Traits::name);
  else
    return to_string(Traits::type);
}

/// Whether two column types have the same encoding. Those that MDS does not define have names.
template <class A, class B>
[[nodiscard]] consteval bool same_encoding() {
  if (A::type != B::type) return false;
  if constexpr (A::type.kind == encoding_kind::other && B::type.kind == encoding_kind::other)
    return std::string_view(A::name) == std::string_view(B::name);
  return true;
}

}  // namespace detail

}  // namespace mdstream::inline v0
