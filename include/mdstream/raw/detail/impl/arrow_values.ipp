#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/core/json.hpp>
#include <mdstream/format/dtype.hpp>
#include <mdstream/format/ndarray.hpp>
#include <mdstream/raw/detail/arrow_values.hpp>
#include <mdstream/raw/detail/text_value.hpp>
#include <mdstream/version.hpp>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace mdstream::inline v0::raw::detail {

using arrow_type = ::arrow::Type;

template <class Array>
const Array& as_array(const ::arrow::Array& values) {
  return static_cast<const Array&>(values);
}

/// What the type's values are in memory; `none` where they are no numbers. Booleans are bits.
MDSTREAM_INLINE dtype dtype_of_arrow(arrow_type::type type) {
  switch (type) {
    case arrow_type::UINT8: return dtype::uint8;
    case arrow_type::INT8: return dtype::int8;
    case arrow_type::UINT16: return dtype::uint16;
    case arrow_type::INT16: return dtype::int16;
    case arrow_type::UINT32: return dtype::uint32;
    case arrow_type::INT32:
    case arrow_type::DATE32:
    case arrow_type::TIME32: return dtype::int32;
    case arrow_type::UINT64: return dtype::uint64;
    case arrow_type::INT64:
    case arrow_type::DATE64:
    case arrow_type::TIME64:
    case arrow_type::TIMESTAMP:
    case arrow_type::DURATION: return dtype::int64;
    case arrow_type::HALF_FLOAT: return dtype::float16;
    case arrow_type::FLOAT: return dtype::float32;
    case arrow_type::DOUBLE: return dtype::float64;
    default: return dtype::none;
  }
}

/// The bytes of numbers, which are of the dtype `type`.
MDSTREAM_INLINE bytes_view numbers_of(const ::arrow::Array& values, dtype type, std::int64_t first,
                                      std::int64_t count) {
  if (count == 0) return {};
  const ::arrow::ArrayData& data = *values.data();
  const auto size = static_cast<std::size_t>(size_of(type));
  const auto* begin = reinterpret_cast<const std::byte*>(data.buffers[1]->data());
  return {begin + static_cast<std::size_t>(data.offset + first) * size,
          static_cast<std::size_t>(count) * size};
}

MDSTREAM_INLINE std::optional<std::string_view> text_of_arrow(const ::arrow::Array& values,
                                                              std::int64_t row) {
  switch (values.type_id()) {
    case arrow_type::STRING:
    case arrow_type::BINARY: return as_array<::arrow::BinaryArray>(values).GetView(row);
    case arrow_type::LARGE_STRING:
    case arrow_type::LARGE_BINARY: return as_array<::arrow::LargeBinaryArray>(values).GetView(row);
    case arrow_type::STRING_VIEW:
    case arrow_type::BINARY_VIEW: return as_array<::arrow::BinaryViewArray>(values).GetView(row);
    case arrow_type::FIXED_SIZE_BINARY:
      return as_array<::arrow::FixedSizeBinaryArray>(values).GetView(row);
    default: return std::nullopt;
  }
}

MDSTREAM_INLINE std::optional<std::string> decimal_of_arrow(const ::arrow::Array& values,
                                                            std::int64_t row) {
  switch (values.type_id()) {
    case arrow_type::DECIMAL32: return as_array<::arrow::Decimal32Array>(values).FormatValue(row);
    case arrow_type::DECIMAL64: return as_array<::arrow::Decimal64Array>(values).FormatValue(row);
    case arrow_type::DECIMAL128: return as_array<::arrow::Decimal128Array>(values).FormatValue(row);
    case arrow_type::DECIMAL256: return as_array<::arrow::Decimal256Array>(values).FormatValue(row);
    default: return std::nullopt;
  }
}

/// A list's place among the values of all lists.
struct arrow_list {
  const ::arrow::Array& values;
  std::int64_t first = 0, count = 0;
};

MDSTREAM_INLINE std::optional<arrow_list> list_of_arrow(const ::arrow::Array& values,
                                                        std::int64_t row) {
  const auto of = [row](const auto& list) {
    return arrow_list{*list.values(), list.value_offset(row), list.value_length(row)};
  };
  switch (values.type_id()) {
    case arrow_type::LIST:
    case arrow_type::MAP: return of(as_array<::arrow::ListArray>(values));
    case arrow_type::LARGE_LIST: return of(as_array<::arrow::LargeListArray>(values));
    case arrow_type::FIXED_SIZE_LIST: return of(as_array<::arrow::FixedSizeListArray>(values));
    default: return std::nullopt;
  }
}

/// What a dictionary or an extension stands for.
MDSTREAM_INLINE std::optional<std::pair<const ::arrow::Array*, std::int64_t>> stored_in(
    const ::arrow::Array& values, std::int64_t row) {
  if (values.type_id() == arrow_type::EXTENSION)
    return std::pair{as_array<::arrow::ExtensionArray>(values).storage().get(), row};
  if (values.type_id() != arrow_type::DICTIONARY) return std::nullopt;
  const auto& coded = as_array<::arrow::DictionaryArray>(values);
  const std::int64_t place = coded.GetValueIndex(row);
  if (place < 0 || place >= coded.dictionary()->length())
    throw error(errc::corrupt, "a value is not in the column's dictionary");
  return std::pair{coded.dictionary().get(), place};
}

/// A text that is JSON.
MDSTREAM_INLINE bool is_json(const ::arrow::DataType& type) {
  return type.id() == arrow_type::EXTENSION &&
         static_cast<const ::arrow::ExtensionType&>(type).extension_name() == "arrow.json";
}

/// A picture or a sound of the Hub's: struct{bytes, path}.
MDSTREAM_INLINE bool is_file_of_hub(const ::arrow::DataType& type) {
  return type.id() == arrow_type::STRUCT && type.num_fields() == 2 &&
         type.field(0)->name() == "bytes" && type.field(0)->type()->id() == arrow_type::BINARY &&
         type.field(1)->name() == "path" && type.field(1)->type()->id() == arrow_type::STRING;
}

/// As Python's `json.dumps` of what pyarrow gives, but that dates and times are numbers, and
/// decimals texts.
MDSTREAM_INLINE json::value json_of_arrow(const ::arrow::Array& values, std::int64_t row) {
  if (values.IsNull(row)) return {};
  if (const auto stored = stored_in(values, row))
    return json_of_arrow(*stored->first, stored->second);
  const arrow_type::type id = values.type_id();
  if (id == arrow_type::BOOL) return bool{as_array<::arrow::BooleanArray>(values).Value(row)};
  if (const dtype type = dtype_of_arrow(id); type != dtype::none)
    return visit_dtype(type, [&]<class T>(T) -> json::value {
      const T number = load<T>(numbers_of(values, type, row, 1).data());
      if constexpr (std::is_integral_v<T>)
        return number;
      else
        return static_cast<double>(number);
    });
  if (const auto text = decimal_of_arrow(values, row)) return *text;
  if (id == arrow_type::STRING || id == arrow_type::LARGE_STRING || id == arrow_type::STRING_VIEW) {
    const std::string_view text = *text_of_arrow(values, row);
    if (mdstream::detail::first_invalid_utf8(text) != text.size())
      throw error(errc::corrupt, "the text is not UTF-8");
    return text;
  }
  if (id == arrow_type::STRUCT) {
    const auto& all = as_array<::arrow::StructArray>(values);
    json::object out;
    for (int k = 0; k < all.num_fields(); ++k)
      out.emplace_back(all.type()->field(k)->name(), json_of_arrow(*all.field(k), row));
    return out;
  }
  if (const auto list = list_of_arrow(values, row)) {
    json::array out;
    for (std::int64_t k = 0; k < list->count; ++k)
      out.push_back(json_of_arrow(list->values, list->first + k));
    if (id != arrow_type::MAP) return out;
    json::object map;
    for (json::value& entry : out) {
      auto pair = entry.as<json::object>();
      if (pair.size() != 2 || pair[0].second.type() != json::kind::string)
        throw error(errc::unsupported, "the keys of a map are no texts: they have no JSON");
      map.emplace_back(pair[0].second.as<std::string>(), std::move(pair[1].second));
    }
    return map;
  }
  throw error(errc::unsupported, "a value of the type " + values.type()->ToString() +
                                     " within others has no JSON: name the columns without it");
}

MDSTREAM_INLINE std::string encoding_of_arrow(const ::arrow::DataType& type) {
  const arrow_type::type id = type.id();
  if (const dtype number = dtype_of_arrow(id); number != dtype::none)
    return std::string(to_string(number));
  switch (id) {
    case arrow_type::BOOL: return "uint8";
    case arrow_type::STRING:
    case arrow_type::LARGE_STRING:
    case arrow_type::STRING_VIEW: return "str";
    case arrow_type::BINARY:
    case arrow_type::LARGE_BINARY:
    case arrow_type::BINARY_VIEW:
    case arrow_type::FIXED_SIZE_BINARY: return "bytes";
    case arrow_type::DECIMAL32:
    case arrow_type::DECIMAL64:
    case arrow_type::DECIMAL128:
    case arrow_type::DECIMAL256: return "str_decimal";
    case arrow_type::DICTIONARY:
      return encoding_of_arrow(*static_cast<const ::arrow::DictionaryType&>(type).value_type());
    case arrow_type::EXTENSION: {
      const auto& of = static_cast<const ::arrow::ExtensionType&>(type);
      return is_json(type) ? "json" : encoding_of_arrow(*of.storage_type());
    }
    case arrow_type::LIST:
    case arrow_type::LARGE_LIST:
    case arrow_type::FIXED_SIZE_LIST: {
      const dtype element = dtype_of_arrow(type.field(0)->type()->id());
      if (element == dtype::none) return "json";
      encoding out{.kind = encoding_kind::ndarray, .type = element};
      if (id == arrow_type::FIXED_SIZE_LIST)
        out.dims.push_back(static_cast<std::uint64_t>(
            static_cast<const ::arrow::FixedSizeListType&>(type).list_size()));
      return to_string(out);
    }
    default: return is_file_of_hub(type) ? "bytes" : "json";
  }
}

/// Throws if an integer of the dtype `type` would be another number.
template <class T>
void check_fits(T value, dtype type) {
  if (type == dtype::none || is_floating(type)) return;
  visit_dtype(type, [&]<class Wanted>(Wanted) {
    if constexpr (std::is_integral_v<T> && std::is_integral_v<Wanted>)
      if (std::in_range<Wanted>(value)) return;
    throw error(errc::corrupt,
                "a number is no integer of the encoding " + std::string(to_string(type)));
  });
}

/// A list of numbers as an array.
MDSTREAM_INLINE void set_arrow_list(const arrow_list& list, std::size_t i, row_values& out) {
  const dtype type = dtype_of_arrow(list.values.type_id());
  if (type == dtype::none)
    throw error(errc::corrupt, "a list of " + list.values.type()->ToString() + " is no array");
  if (list.count == 0)
    throw error(errc::corrupt, "a list is empty, and an array cannot be: take the column as json");
  for (std::int64_t k = 0; k < list.count; ++k)
    if (list.values.IsNull(list.first + k)) throw error(errc::corrupt, "a list has a null");
  const array_shape shape{static_cast<std::uint64_t>(list.count)};
  out.set_value(i, any_ndarray(type, shape, numbers_of(list.values, type, list.first, list.count)));
}

MDSTREAM_INLINE void set_any_arrow_value(const ::arrow::Array& values, std::int64_t row,
                                         const sample_layout& layout, std::size_t i,
                                         row_values& out) {
  const encoding& wanted = layout[i].type;
  const auto text = text_of_arrow(values, row);
  const bool wants_json = wanted.kind == encoding_kind::json;
  if (const auto stored = stored_in(values, row)) {
    if (wants_json && is_json(*values.type()))
      return set_text_value(layout, i, *text_of_arrow(*stored->first, row), out);
    return set_any_arrow_value(*stored->first, stored->second, layout, i, out);
  }
  if (text && !wants_json) return set_text_value(layout, i, *text, out);
  if (wants_json) return out.copy(i, as_bytes(json::dump(json_of_arrow(values, row))));
  if (const dtype type = dtype_of_arrow(values.type_id()); type != dtype::none) {
    const bytes_view number = numbers_of(values, type, row, 1);
    const dtype target = scalar_dtype(wanted.kind);
    if (target == type) return out.set(i, number);
    return visit_dtype(type, [&]<class T>(T) {
      const T value = load<T>(number.data());
      check_fits(value, target);
      out.set_value(i, value);
    });
  }
  if (values.type_id() == arrow_type::BOOL) {
    const bool value = as_array<::arrow::BooleanArray>(values).Value(row);
    return out.set_value(i, std::uint8_t{value});
  }
  if (const auto decimal = decimal_of_arrow(values, row)) {
    if (wanted.kind == encoding_kind::str) return out.copy(i, as_bytes(*decimal));
    return set_text_value(layout, i, *decimal, out);
  }
  if (is_file_of_hub(*values.type())) {
    const auto& file = as_array<::arrow::StructArray>(values);
    if (file.field(0)->IsNull(row))
      throw error(errc::corrupt, "the file is not in its column, which has its path alone");
    // The child lives as long as its parent, which keeps it.
    return set_text_value(layout, i, *text_of_arrow(*file.field(0), row), out);
  }
  if (const auto list = list_of_arrow(values, row); list && wanted.kind == encoding_kind::ndarray)
    return set_arrow_list(*list, i, out);
  throw error(errc::corrupt, "a value of the type " + values.type()->ToString() +
                                 " is none of the encoding " + to_string(wanted));
}

MDSTREAM_INLINE void set_arrow_value(const ::arrow::Array& values, std::int64_t row,
                                     const sample_layout& layout, std::size_t i, row_values& out) {
  try {
    set_any_arrow_value(values, row, layout, i, out);
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = layout[i].name;
    throw error(e.code(), std::move(where));
  }
}

}  // namespace mdstream::inline v0::raw::detail
