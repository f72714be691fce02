#pragma once

/// A value of a column whose type is known at run time only, for reading and writing by name.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/column_types.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

/// A value of any encoding. Views what it was made from: bytes, text and arrays have to outlive it
/// (text that had to be unescaped, as in JSONL rows, it holds itself).
///
/// | encoding | reading gives | writing also takes |
/// |---|---|---|
/// | any | | bytes_view, stored as it is |
/// | bytes, jpeg, png, pkl | bytes_view | |
/// | str | std::string_view | |
/// | json | std::string_view, the text | json::value |
/// | int | std::int64_t | integers that fit |
/// | int8 ... int64 | std::int64_t | integers that fit, doubles (cut off), text |
/// | uint8 ... uint64 | std::uint64_t | integers that fit, doubles (cut off), text |
/// | float16, float32, float64 | double | integers, text |
/// | str_int | json::big_integer | std::int64_t, std::uint64_t |
/// | str_float | double | |
/// | str_decimal | decimal | |
/// | ndarray | any_ndarray | |
/// | pil | pil_image | |
/// | list[pil] | std::vector<pil_image> | |
/// | jpeg_array, list[jpeg], list[png] | image_files | |
///
///     const mds::column_value label = sample.value("label");
///     if (const auto text = label.text()) use(*text);
///     out.write({{"id", 17}, {"text", "a line"}});  // written by name
class column_value {
 public:
  using storage = std::variant<bytes_view, std::string_view, std::string, bool, std::int64_t,
                               std::uint64_t, double, any_ndarray, json::big_integer, decimal,
                               pil_image, std::vector<pil_image>, image_files, const json::value*>;

  column_value() = default;
  column_value(bytes_view value) : data_(value) {}
  column_value(std::string_view value) : data_(value) {}
  column_value(const std::string& value) : data_(std::string_view(value)) {}
  column_value(const char* value) : data_(std::string_view(value)) {}
  column_value(bool value) : data_(value) {}
  template <std::integral T>
    requires element<T>
  column_value(T value) : data_(widest<T>(value)) {}
  column_value(double value) : data_(value) {}
  column_value(float value) : data_(double{value}) {}
  column_value(float16 value) : data_(double{float{value}}) {}
  column_value(const any_ndarray& value) : data_(value) {}
  column_value(json::big_integer value) : data_(std::move(value)) {}
  column_value(decimal value) : data_(std::move(value)) {}
  column_value(const pil_image& value) : data_(value) {}
  column_value(std::vector<pil_image> value) : data_(std::move(value)) {}
  column_value(image_files value) : data_(std::move(value)) {}
  /// A tree for a `json` column. It has to outlive this.
  column_value(const json::value* value) : data_(value) {}
  template <detail::byte_string V>
    requires(!std::same_as<V, bytes_view>)
  column_value(const V& value) : data_(detail::bytes_of(value)) {}

  [[nodiscard]] const storage& get() const noexcept { return data_; }

  /// The text, if it is one.
  [[nodiscard]] std::optional<std::string_view> text() const noexcept {
    if (const auto* view = std::get_if<std::string_view>(&data_)) return *view;
    if (const auto* own = std::get_if<std::string>(&data_)) return std::string_view(*own);
    return std::nullopt;
  }

  /// A text that the value itself holds.
  [[nodiscard]] static column_value owning(std::string text) {
    column_value out;
    out.data_ = std::move(text);
    return out;
  }

  /// The value as `T`, one of the types of `storage`; texts are all std::string_view.
  /// Throws errc::schema_mismatch if it is another one.
  template <class T>
  [[nodiscard]] decltype(auto) as() const {
    if constexpr (std::same_as<T, std::string_view>) {
      if (const auto text = this->text()) return std::string_view(*text);
    } else if (const T* found = std::get_if<T>(&data_)) {
      return (*found);
    }
    throw error(errc::schema_mismatch, "the column's value is of another type than asked for");
  }

 private:
  template <std::integral T>
  static constexpr auto widest(T value) {
    if constexpr (std::is_signed_v<T>)
      return std::int64_t{value};
    else
      return std::uint64_t{value};
  }

  storage data_;
};

/// A value and the column that it is for.
struct named_value {
  std::string_view name{};
  column_value value{};
};

namespace detail {

template <class F>
decltype(auto) visit_scalar_kind(encoding_kind kind, F&& f) {
  return visit_dtype(scalar_dtype(kind), std::forward<F>(f));
}

[[nodiscard]] inline column_value decode_scalar(encoding_kind kind, bytes_view value) {
  return visit_scalar_kind(kind, [&]<class T>(T) -> column_value {
    // As in Python: an exact multiple of the element is tolerated where the index allows it.
    const bool exact = kind == encoding_kind::int_;
    if (value.empty() || value.size() % sizeof(T) != 0 || (exact && value.size() != sizeof(T)))
      throw error(errc::corrupt, std::to_string(value.size()) + " bytes are not one " +
                                     std::string(to_string(dtype_of<T>)));
    return load<T>(value.data());
  });
}

}  // namespace detail

/// The value that `value` holds in a column of the encoding `type`. It views both.
/// Throws errc::corrupt if the bytes are no such value.
[[nodiscard]] inline column_value decode_value(const encoding& type, bytes_view value) {
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

/// The value of column `column` in an MDS sample. It views the sample and the layout.
/// Throws errc::corrupt, naming the column, if the bytes are no such value.
[[nodiscard]] inline column_value read_column(const sample_layout& layout, bytes_view sample,
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

/// The value of the column of that name. Throws errc::not_found if there is none.
[[nodiscard]] inline column_value read_column(const sample_layout& layout, bytes_view sample,
                                              std::string_view name) {
  return read_column(layout, sample, layout.at(name));
}

}  // namespace mdstream::inline v0
