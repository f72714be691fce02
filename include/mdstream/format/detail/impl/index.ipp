#pragma once

#include <mdstream/format/detail/index_parser.hpp>
#include <mdstream/format/index.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE dataset_index dataset_index::parse(std::string_view text,
                                                   const index_options& options) {
  dataset_index out;
  detail::index_parser(text, options.where, options.allow_unsafe_types, out.columns_).run();
  return out;
}

MDSTREAM_INLINE std::optional<file_info> dataset_index::file(std::size_t i, file_role role) const {
  if (!columns_.has(i, role)) return std::nullopt;
  return columns_.file(i, role);
}

}  // namespace mdstream::inline v0
