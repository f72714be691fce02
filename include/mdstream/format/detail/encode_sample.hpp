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

template <class Schema, std::size_t I, class V>
[[nodiscard]] auto encode_column(const V& value) {
  using declared = typename Schema::template declared<I>;
  static_assert(writable_as<V, typename declared::type>,
                "a value of this type can not be written to that column of the schema");
  try {
    return declared::traits::encode(value);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = declared::name.view();
    throw error(e.code(), std::move(where));
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
