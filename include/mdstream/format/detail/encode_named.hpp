#pragma once

/// Encodes MDS samples of a compile-time schema from values that name their columns.

#include <mdstream/format/column_argument.hpp>
#include <mdstream/format/detail/encode_sample.hpp>

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

namespace mdstream::inline v0::detail {

/// The position among `names` of the name of each declared column of the schema.
template <class Schema, fixed_string... Names>
[[nodiscard]] consteval std::array<std::size_t, Schema::size> argument_positions() {
  constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
  std::array<std::size_t, Schema::size> out{};
  for (std::size_t i = 0; i < names.size(); ++i) out[Schema::find(names[i])] = i;
  return out;
}

/// Whether no two names are equal.
template <fixed_string... Names>
[[nodiscard]] consteval bool all_differ() {
  constexpr std::array<std::string_view, sizeof...(Names)> names{Names.view()...};
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (names[i] == names[k]) return false;
  return true;
}

template <class Schema, fixed_string Name>
consteval bool require_column() {
  static_assert(Schema::find(Name.view()) < Schema::size,
                "mdstream: the schema has no column of this name");
  return true;
}

/// As `encode_sample`, with the values in any order.
template <class Schema, class Place, fixed_string... Names, class... Values>
void encode_named(Place&& place, const column_argument<Names, Values>&... values) {
  constexpr bool known = (require_column<Schema, Names>() && ...);
  static_assert(all_differ<Names...>(), "mdstream: write names a column twice");
  static_assert(sizeof...(Names) == Schema::size,
                "mdstream: write names one value for each column of the schema");
  if constexpr (known && all_differ<Names...>() && sizeof...(Names) == Schema::size) {
    constexpr auto at = argument_positions<Schema, Names...>();
    const auto all = std::tie(values.value...);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      detail::encode_sample<Schema>(std::forward<Place>(place), std::get<at[I]>(all)...);
    }(std::make_index_sequence<Schema::size>());
  }
}

}  // namespace mdstream::inline v0::detail
