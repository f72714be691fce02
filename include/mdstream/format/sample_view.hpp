#pragma once

/// The columns of one MDS sample, read by a compile-time schema or by name.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/format/detail/column_picks.hpp>
#include <mdstream/format/ndarray.hpp>
#include <mdstream/format/own_encoding.hpp>
#include <mdstream/format/schema.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0 {

namespace detail {

template <class T>
inline constexpr bool is_unaligned_view = false;
template <class T>
inline constexpr bool is_unaligned_view<unaligned_view<T>> = true;

/// A value of an encoding of one's own; `column` is for the error.
template <own_encoding E>
[[nodiscard]] typename E::view decode_own(bytes_view value, std::string_view column) {
  try {
    return column_traits<E>::decode(value);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = column;
    throw error(e.code(), std::move(where));
  }
}

/// Whether a column's values are of an encoding of one's own.
template <own_encoding E>
[[nodiscard]] bool is_of(const column_layout& column) noexcept {
  using traits = column_traits<E>;
  return serves(column, {traits::name, traits::type, fixed_size(traits::type)});
}

[[nodiscard]] constexpr bool is_text(encoding_kind kind) noexcept {
  return kind == encoding_kind::str || kind == encoding_kind::json;
}

/// A column's value as `T`, or nothing where the column is no such thing.
template <class T>
[[nodiscard]] std::optional<T> value_as(const encoding& type, bytes_view value) {
  if constexpr (std::same_as<T, bytes_view>) {
    return value;
  } else if constexpr (std::same_as<T, std::string_view>) {
    if (is_text(type.kind)) return checked_text(value);
  } else if constexpr (std::same_as<T, any_ndarray>) {
    if (type.kind == encoding_kind::ndarray) return parse_ndarray(type, value);
  } else if constexpr (is_unaligned_view<T>) {
    using value_type = std::remove_cvref_t<decltype(std::declval<T>()[0])>;
    if (type.kind != encoding_kind::ndarray) return std::nullopt;
    const any_ndarray array = parse_ndarray(type, value);
    if (array.type() == dtype_of<value_type>) return T(array.bytes());
  } else {
    static_assert(element<T>,
                  "mdstream: a column is read as an element type, std::string_view, bytes_view, "
                  "unaligned_view<T> or any_ndarray");
    if (scalar_dtype(type.kind) == dtype_of<T> && value.size() == sizeof(T))
      return load<T>(value.data());
  }
  return std::nullopt;
}

}  // namespace detail

/// One sample. Owns nothing: it and what `get` returns are valid as long as the bytes and the
/// layout are.
///
///     std::size_t words(const mds::sample_view<rows>& sample) {
///       return std::ranges::count(sample.get<"text">(), ' ') + 1;
///     }
template <class Schema>
class sample_view {
 public:
  using schema = Schema;

  sample_view(bytes_view bytes, const sample_layout& layout) noexcept
      : bytes_(bytes), layout_(&layout) {}

  /// The sample as it lies in its raw shard.
  [[nodiscard]] bytes_view bytes() const noexcept { return bytes_; }

  /// The value of a column of a compile-time schema: a scalar, or a view (column_types.hpp).
  /// Throws `errc::corrupt`, naming the column, if the bytes are no such value.
  template <fixed_string Name>
    requires(!Schema::is_dynamic)
  [[nodiscard]] decltype(auto) get() const {
    static_assert(Schema::find(Name.view()) < Schema::size,
                  "mdstream: the schema has no column of this name");
    if constexpr (Schema::find(Name.view()) < Schema::size)
      return Schema::template get<Name>(bytes_);
  }

  /// The value of a column as an encoding of your own of the same name (own_encoding.hpp), whatever
  /// the schema's type is:
  ///
  ///     const nlohmann::json meta = sample.get<"meta", mds::nlohmann_json>();
  template <fixed_string Name, own_encoding E>
    requires(!Schema::is_dynamic)
  [[nodiscard]] typename E::view get() const {
    static_assert(Schema::find(Name.view()) < Schema::size,
                  "mdstream: the schema has no column of this name");
    if constexpr (Schema::find(Name.view()) < Schema::size) {
      using traits = typename Schema::template column_of<Name>::traits;
      static_assert(detail::same_encoding<traits, column_traits<E>>(),
                    "mdstream: the column has another encoding");
      return detail::decode_own<E>(Schema::template raw<Name>(bytes_), Name.view());
    }
  }

  /// The same by name. Throws `errc::not_found` if there is no such column,
  /// `errc::invalid_argument` if it has another encoding.
  template <own_encoding E>
  [[nodiscard]] typename E::view get(std::string_view name) const {
    const std::size_t index = layout_->at(name);
    const column_layout& column = (*layout_)[index];
    if (detail::is_of<E>(column))
      return detail::decode_own<E>(layout_->locate(bytes_, index), column.name);
    throw error(errc::invalid_argument,
                diagnostics{.what = "a column of encoding " + column.encoding_text +
                                    " can not be read as \"" + std::string(E::name) + '"',
                            .column = column.name});
  }

  /// The value of a column by name, as an element type for scalars, `std::string_view` for texts,
  /// `unaligned_view<T>` or `any_ndarray` for arrays, `bytes_view` for any column.
  /// Throws `errc::not_found` if there is no such column, `errc::invalid_argument` if it is no `T`.
  template <class T>
    requires(!own_encoding<T>)
  [[nodiscard]] T get(std::string_view name) const {
    const std::size_t index = layout_->at(name);
    const column_layout& column = (*layout_)[index];
    if (const auto value = detail::value_as<T>(column.type, layout_->locate(bytes_, index)))
      return *value;
    throw error(errc::invalid_argument,
                diagnostics{.what = "a column of encoding " + column.encoding_text +
                                    " can not be read as the type that was asked for",
                            .column = column.name});
  }

  /// The value of a column by name, whatever its encoding: a variant (column_value.hpp), valid as
  /// what `get` returns. Throws `errc::not_found` if there is no such column, `errc::corrupt`,
  /// naming the column, if the bytes are no such value.
  ///
  ///     std::visit([](const auto& value) { ... }, sample.value("label").get());
  [[nodiscard]] column_value value(std::string_view name) const {
    return read_column(*layout_, bytes_, name);
  }

  [[nodiscard]] const sample_layout& layout() const noexcept { return *layout_; }

 private:
  bytes_view bytes_;
  const sample_layout* layout_;
};

}  // namespace mdstream::inline v0
