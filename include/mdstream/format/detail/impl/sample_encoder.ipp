#pragma once

#include <mdstream/format/detail/sample_encoder.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void refuse_value(const encoding& type) {
  throw error(
      errc::invalid_argument,
      "a value of this type does not go into a column of encoding " + mdstream::to_string(type));
}

MDSTREAM_INLINE encoded_value encode_number(encoding_kind kind, const column_value& value) {
  return visit_scalar_kind(kind, [&]<class T>(T) -> encoded_value {
    encoded_number out{};
    store_to(out.bytes, held_number<T>(kind, value));
    out.count = sizeof(T);
    return out;
  });
}

MDSTREAM_INLINE encoded_value encode_text(const encoding& type, const column_value& value) {
  if (const auto text = value.text()) return column_traits<str>::encode(*text);
  refuse_value(type);
}

MDSTREAM_INLINE encoded_value encode_json(const encoding& type, const column_value& value) {
  if (const auto* tree = std::get_if<const json::value*>(&value.get()))
    return column_traits<json_text>::encode(**tree);
  return encode_held<json_text, std::string_view, bool, std::int64_t, std::uint64_t, double,
                     json::big_integer>(type, value);
}

MDSTREAM_INLINE encoded_value encode_array(const encoding& type, const column_value& value) {
  const any_ndarray* array = std::get_if<any_ndarray>(&value.get());
  if (array == nullptr) refuse_value(type);
  return encoded_array{make_ndarray_header(type, array->type(), array->shape()), array->bytes()};
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE detail::encoded_value encode_value(const encoding& type,
                                                   const column_value& value) {
  using detail::encode_held;
  if (const bytes_view* raw = std::get_if<bytes_view>(&value.get()))
    return detail::encode_verbatim(type, *raw);
  switch (type.kind) {
    case encoding_kind::str: return detail::encode_text(type, value);
    case encoding_kind::json: return detail::encode_json(type, value);
    case encoding_kind::str_int:
      return encode_held<str_int, json::big_integer, std::int64_t, std::uint64_t>(type, value);
    case encoding_kind::str_float: return encode_held<str_float, double>(type, value);
    case encoding_kind::str_decimal: return encode_held<str_decimal, decimal>(type, value);
    case encoding_kind::ndarray: return detail::encode_array(type, value);
    case encoding_kind::pil: return encode_held<pil, pil_image>(type, value);
    case encoding_kind::list_pil:
      return encode_held<list<pil>, std::vector<pil_image>>(type, value);
    case encoding_kind::jpeg_array:
    case encoding_kind::jpegarray: return encode_held<jpeg_array, image_files>(type, value);
    case encoding_kind::list_jpeg: return encode_held<list<jpeg>, image_files>(type, value);
    case encoding_kind::list_png: return encode_held<list<png>, image_files>(type, value);
    default: break;
  }
  if (scalar_dtype(type.kind) == dtype::none) detail::refuse_value(type);
  return detail::encode_number(type.kind, value);
}

MDSTREAM_INLINE void sample_encoder::encode(const named_value* first, std::size_t count) {
  for (std::size_t i = 0; i < layout_->size(); ++i) {
    const column_layout& about = (*layout_)[i];
    const named_value& found = find_value(about.name, first, count);
    try {
      parts_[i] = encode_value(about.type, found.value);
    } catch (const error& e) {
      diagnostics where = e.where();
      where.column = about.name;
      throw error(e.code(), std::move(where));
    }
  }
}

MDSTREAM_INLINE std::uint64_t sample_encoder::size() const {
  std::uint64_t sum = 4 * std::uint64_t{layout_->variable_columns()};
  for (const detail::encoded_value& each : parts_) sum += size_of_part(each);
  return sum;
}

MDSTREAM_INLINE void sample_encoder::copy_to(std::byte* out) const {
  std::byte* sizes = out;
  out += 4 * layout_->variable_columns();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const std::uint64_t bytes = size_of_part(parts_[i]);
    if (!(*layout_)[i].size) {
      store_to(sizes, static_cast<std::uint32_t>(bytes));
      sizes += 4;
    }
    std::visit([out](const auto& part) { part.copy_to(out); }, parts_[i]);
    out += bytes;
  }
}

MDSTREAM_INLINE const named_value& sample_encoder::find_value(std::string_view name,
                                                              const named_value* first,
                                                              std::size_t count) {
  for (std::size_t k = count; k > 0; --k)
    if (first[k - 1].name == name) return first[k - 1];
  throw error(errc::invalid_argument, diagnostics{.what = "the sample has no value for a column",
                                                  .column = std::string(name)});
}

MDSTREAM_INLINE std::uint64_t sample_encoder::size_of_part(const detail::encoded_value& each) {
  return std::visit([](const auto& part) { return std::uint64_t{part.size()}; }, each);
}

}  // namespace mdstream::inline v0::detail
