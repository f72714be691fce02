#pragma once

#include <mdstream/format/column_value.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

namespace detail {

[[nodiscard]] inline column_value decode_scalar(encoding_kind kind, bytes_view value) {
  return visit_dtype(scalar_dtype(kind), [&]<class T>(T) -> column_value {
    // As in Python: an exact multiple of the element is tolerated where the index allows it.
    const bool exact = kind == encoding_kind::int_;
    if (value.empty() || value.size() % sizeof(T) != 0 || (exact && value.size() != sizeof(T)))
      throw error(errc::corrupt, std::to_string(value.size()) + " bytes are not one " +
                                     std::string(to_string(dtype_of<T>)));
    return load<T>(value.data());
  });
}

}  // namespace detail

MDSTREAM_INLINE column_value decode_value(const encoding& type, bytes_view value) {
  switch (type.kind) {
    case encoding_kind::str: return column_traits<str>::decode(value);
    case encoding_kind::json: return column_traits<json_text>::decode(value);
    case encoding_kind::str_int: return column_traits<str_int>::decode(value);
    case encoding_kind::str_float: return column_traits<str_float>::decode(value);
    case encoding_kind::str_decimal: return column_traits<str_decimal>::decode(value);
    case encoding_kind::ndarray: return parse_ndarray(type, value);
    case encoding_kind::pil: return parse_pil(value);
    case encoding_kind::list_pil: return parse_pil_list(value);
    case encoding_kind::jpeg_array:
    case encoding_kind::jpegarray: return parse_jpeg_array(value);
    case encoding_kind::list_jpeg:
    case encoding_kind::list_png: return parse_image_list(value);
    default: break;
  }
  if (scalar_dtype(type.kind) != dtype::none) return detail::decode_scalar(type.kind, value);
  return value;
}

MDSTREAM_INLINE column_value read_column(const sample_layout& layout, bytes_view sample,
                                         std::size_t column) {
  const bytes_view value = layout.locate(sample, column);
  try {
    return decode_value(layout[column].type, value);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = layout[column].name;
    throw error(e.code(), std::move(where));
  }
}

}  // namespace mdstream::inline v0
