#pragma once

/// Lowers columns, as schema or index know them, to what a collate plan needs.

#include <mdstream/collate/collator.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/encoding.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace mdstream::inline v0::collate::detail {

/// The source of a column of this encoding. Texts, images and the like are their bytes. An
/// `ndarray` whose values each bring their own dtype has `dtype::none`: no collator accepts it.
[[nodiscard]] constexpr source_column source_of(const encoding& type) noexcept {
  const std::uint64_t bytes = fixed_size(type).value_or(0);
  if (const dtype scalar = scalar_dtype(type.kind); scalar != dtype::none)
    return {.type = scalar, .value_bytes = bytes};
  if (type.kind == encoding_kind::ndarray)
    return {.type = type.type, .shaped = bytes == 0, .value_bytes = bytes};
  return {.type = dtype::uint8, .value_bytes = bytes};
}

/// The sources of a dataset's columns, in storage order.
/// Throws `errc::unsupported`, naming the column, if `Collator` does not accept one of them.
template <collator Collator>
[[nodiscard]] std::vector<source_column> sources_of(const sample_layout& layout) {
  std::vector<source_column> sources;
  sources.reserve(layout.size());
  for (const column_layout& column : layout.columns()) {
    sources.push_back(source_of(column.type));
    // Samples are walked by these sizes, so they have to be those that the layout was made with.
    if (sources.back().value_bytes != column.size.value_or(0))
      throw error(errc::corrupt,
                  diagnostics{.what = "the column's size is not that of its encoding " +
                                      column.encoding_text,
                              .column = column.name});
    if (!Collator::accepts(sources.back()))
      throw error(errc::unsupported,
                  diagnostics{.what = "the collator \"" + std::string(Collator::name) +
                                      "\" does not take values of encoding " + column.encoding_text,
                              .column = column.name});
  }
  if constexpr (row_collator<Collator>) {
    if (std::ranges::none_of(sources, &source_column::shaped))
      throw error(errc::unsupported, "the collator \"" + std::string(Collator::name) +
                                         "\" needs a column of variable ndarray; there are " +
                                         layout.describe());
  }
  return sources;
}

template <class Collator, class Schema, std::size_t... I>
[[nodiscard]] consteval bool accepts_columns(std::index_sequence<I...>) {
  return (Collator::accepts(source_of(Schema::template declared<I>::traits::type)) && ...);
}

/// Whether a collator takes every column of a compile-time schema. What a dynamic schema will hold
/// is asked at open: see `sources_of`.
template <collator Collator, class Schema>
inline constexpr bool accepts_schema = [] {
  if constexpr (Schema::is_dynamic)
    return true;
  else
    return detail::accepts_columns<Collator, Schema>(std::make_index_sequence<Schema::size>());
}();

}  // namespace mdstream::inline v0::collate::detail
