#pragma once

/// Encodes MDS samples of a compile-time schema.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace mdstream::inline v0::detail {

/// Whether a scalar of type `V` can lose what a floating-point column of `T` does not hold.
/// Integers that do not fit into a column of integers are refused when they are written.
template <class V, class T>
inline constexpr bool narrows = false;
template <class V, element T>
  requires(scalar_for<V, T> && !std::is_integral_v<T> && !std::same_as<V, T>)
inline constexpr bool narrows<V, T> = significant_bits<V> > significant_bits<T>;

/// The arguments are what the compiler shows of a refused call: the column, its type, the value's.
template <fixed_string Column, class ColumnType, class Value>
struct written_to_column {
  static constexpr bool is_possible = writable_as<Value, ColumnType>;
  static_assert(is_possible,
                "mdstream: write: this column does not take a value of this type (values without "
                "mds::col stand in the order of the schema)");
  static_assert(!narrows<Value, ColumnType>,
                "mdstream: write: this column would round a value of this type: convert it before");
};

template <class Schema, std::size_t I, class V>
[[nodiscard]] auto encode_column(const V& value) {
  using declared = typename Schema::template declared<I>;
  if constexpr (written_to_column<declared::name, typename declared::type, V>::is_possible) {
    try {
      return declared::traits::encode(value);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.column = declared::name.view();
      throw error(e.code(), std::move(where));
    }
  } else {
    return encoded_bytes{};
  }
}

template <class Schema, std::size_t I, class Parts>
void copy_column(const Parts& parts, std::byte*& sizes, std::byte*& out) {
  const auto& part = std::get<I>(parts);
  if constexpr (!fixed_size(Schema::template declared<I>::traits::type)) {
    store_to(sizes, static_cast<std::uint32_t>(part.size()));
    sizes += 4;
  }
  part.copy_to(out);
  out += part.size();
}

template <class Schema, class Place, std::size_t... I, class... Values>
void encode_sample(Place&& place, std::index_sequence<I...>, const Values&... values) {
  const auto parts = std::make_tuple(encode_column<Schema, I>(values)...);
  const std::uint64_t size =
      Schema::header_bytes + (std::uint64_t{0} + ... + std::get<I>(parts).size());
  std::byte* out = place(size);
  std::byte* sizes = out;
  out += Schema::header_bytes;
  (copy_column<Schema, Schema::storage_order[I]>(parts, sizes, out), ...);
}

/// Writes a sample to the memory that `place(bytes)` gives. One value a column, in the order in
/// which the schema names them. Throws `errc::invalid_argument`, naming the column, for a value
/// that does not fit, such as an array of another shape.
template <class Schema, class Place, class... Values>
void encode_sample(Place&& place, const Values&... values) {
  static_assert(sizeof...(Values) == Schema::size, "mdstream: one value for each column");
  detail::encode_sample<Schema>(std::forward<Place>(place), std::index_sequence_for<Values...>(),
                                values...);
}

}  // namespace mdstream::inline v0::detail
