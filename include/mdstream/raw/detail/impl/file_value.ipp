#pragma once

#include <mdstream/format/column_value.hpp>
#include <mdstream/raw/detail/file_value.hpp>
#include <mdstream/raw/detail/npy.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

MDSTREAM_INLINE std::string extension_of(std::string_view key) {
  key.remove_prefix(key.rfind('/') + 1);
  const std::size_t point = key.rfind('.');
  return point == std::string_view::npos ? "" : lower_case(key.substr(point + 1));
}

MDSTREAM_INLINE std::string_view encoding_of_extension(std::string_view extension) {
  if (extension == "jpg" || extension == "jpeg") return "jpeg";
  if (extension == "png") return "png";
  if (extension == "txt" || extension == "text") return "str";
  if (extension == "cls" || extension == "id" || extension == "index") return "int";
  if (extension == "json") return "json";
  if (extension == "npy") return "ndarray";
  return "bytes";
}

MDSTREAM_INLINE void set_file_value(const sample_layout& layout, std::size_t i, bytes_view file,
                                    row_values& out) {
  if (layout[i].type.kind != encoding_kind::ndarray)
    return set_text_value(layout, i, as_text(file), out);
  try {
    const npy_array array = parse_npy(file);
    out.set_value(i, array.view());
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = layout[i].name;
    throw error(errc::corrupt, std::move(where));
  }
}

}  // namespace mdstream::inline v0::raw::detail
