#pragma once

/// Encodes MDS samples of columns that are known at run time only.

#include <mdstream/format/column_value.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

namespace detail {

/// A fixed number of bytes of a scalar column.
struct encoded_number {
  std::byte bytes[8];
  std::size_t count;
  [[nodiscard]] std::size_t size() const noexcept { return count; }
  void copy_to(std::byte* out) const noexcept { std::memcpy(out, bytes, count); }
};

/// A value ready to be copied into a sample.
using encoded_value = std::variant<encoded_bytes, encoded_number, encoded_array, encoded_text>;

[[noreturn]] inline void refuse_value(const encoding& type) {
  throw error(errc::invalid_argument,
              "a value of this type does not go into a column of encoding " + to_string(type));
}

/// Any number that a column of `T` takes: as Python converts it, but out of range is an error.
template <element T, class V>
[[nodiscard]] T number_from(const V& value, encoding_kind kind) {
  if constexpr (scalar_for<V, T>) {
    return scalar_from<T>(value);
  } else if (kind == encoding_kind::int_) {
    refuse_value(encoding{.kind = kind});
  } else if constexpr (std::same_as<V, double>) {
    const double whole = std::trunc(value);
    constexpr double least = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double beyond = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    if (!(whole >= least && whole < beyond)) {
      std::string text;
      json::append_repr(text, value);
      throw error(errc::invalid_argument,
                  text + " does not fit into " + std::string(to_string(dtype_of<T>)));
    }
    return static_cast<T>(whole);
  } else {
    refuse_value(encoding{.kind = kind});
  }
}

template <element T>
[[nodiscard]] T number_from_text(std::string_view text) {
  if constexpr (std::is_integral_v<T>) {
    const auto parsed = parse_python_int(text);
    const auto value = parsed ? parsed->as<T>() : std::nullopt;
    if (!value)
      throw error(errc::invalid_argument, "the text \"" + std::string(text) +
                                              "\" is not an integer of " +
                                              std::string(to_string(dtype_of<T>)));
    return *value;
  } else {
    const auto parsed = parse_python_float(text);
    if (!parsed)
      throw error(errc::invalid_argument, "the text \"" + std::string(text) + "\" is not a number");
    return scalar_from<T>(*parsed);
  }
}

[[nodiscard]] inline encoded_value encode_number(encoding_kind kind, const column_value& value) {
  return visit_scalar_kind(kind, [&]<class T>(T) -> encoded_value {
    const T number = std::visit(
        [&]<class V>(const V& v) -> T {
          if constexpr (std::is_arithmetic_v<V>) {
            return number_from<T>(v, kind);
          } else if constexpr (std::convertible_to<const V&, std::string_view>) {
            if (kind == encoding_kind::int_) refuse_value(encoding{.kind = kind});
            return number_from_text<T>(v);
          } else if constexpr (std::same_as<V, json::big_integer>) {
            return number_from_text<T>(v.digits);
          } else {
            refuse_value(encoding{.kind = kind});
          }
        },
        value.get());
    encoded_number out{};
    store_to(out.bytes, number);
    out.count = sizeof(T);
    return out;
  });
}

/// Encodes as the column type `T` if the value is one that it takes as it is.
template <class T>
[[nodiscard]] encoded_value encode_exactly(const encoding& type, const column_value& value) {
  return std::visit(
      [&]<class V>(const V& v) -> encoded_value {
        if constexpr (std::same_as<V, const json::value*>) {
          if constexpr (writable_as<json::value, T>) return column_traits<T>::encode(*v);
        } else if constexpr (writable_as<V, T>) {
          // str_float takes doubles alone, although C++ would convert
          if constexpr (!std::is_same_v<T, str_float> || std::same_as<V, double> || byte_string<V>)
            return column_traits<T>::encode(v);
        }
        refuse_value(type);
      },
      value.get());
}

[[nodiscard]] inline encoded_value encode_array(const encoding& type, const column_value& value) {
  const any_ndarray* array = std::get_if<any_ndarray>(&value.get());
  if (array == nullptr) refuse_value(type);
  return encoded_array{make_ndarray_header(type, array->type(), array->shape()), array->bytes()};
}

}  // namespace detail

/// Encodes a value for a column of the encoding `type`. The result views the value.
/// Throws errc::invalid_argument if it does not fit.
[[nodiscard]] inline detail::encoded_value encode_value(const encoding& type,
                                                        const column_value& value) {
  using detail::encode_exactly;
  if (const bytes_view* raw = std::get_if<bytes_view>(&value.get()))
    return detail::encode_verbatim(type, *raw);
  switch (type.kind) {
    case encoding_kind::str: return encode_exactly<str>(type, value);
    case encoding_kind::json: return encode_exactly<json_text>(type, value);
    case encoding_kind::str_int: return encode_exactly<str_int>(type, value);
    case encoding_kind::str_float: return encode_exactly<str_float>(type, value);
    case encoding_kind::str_decimal: return encode_exactly<str_decimal>(type, value);
    case encoding_kind::ndarray: return detail::encode_array(type, value);
    case encoding_kind::pil: return encode_exactly<pil>(type, value);
    case encoding_kind::list_pil: return encode_exactly<list<pil>>(type, value);
    case encoding_kind::jpeg_array:
    case encoding_kind::jpegarray: return encode_exactly<jpeg_array>(type, value);
    case encoding_kind::list_jpeg: return encode_exactly<list<jpeg>>(type, value);
    case encoding_kind::list_png: return encode_exactly<list<png>>(type, value);
    default: break;
  }
  if (scalar_dtype(type.kind) == dtype::none) detail::refuse_value(type);
  return detail::encode_number(type.kind, value);
}

/// Encodes samples of a layout, one at a time.
class sample_encoder {
 public:
  /// Precondition: an MDS layout, which outlives the encoder.
  explicit sample_encoder(const sample_layout& layout) : layout_(&layout) {
    parts_.resize(layout.size());
  }

  /// Encodes a sample. Values may come in any order; those of other columns are ignored.
  /// Throws errc::invalid_argument, naming the column, if a value is missing or does not fit.
  /// The values have to outlive `copy_to`.
  void encode(const named_value* first, std::size_t count) {
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

  /// Bytes of the encoded sample.
  [[nodiscard]] std::uint64_t size() const {
    std::uint64_t sum = 4 * std::uint64_t{layout_->variable_columns()};
    for (const detail::encoded_value& each : parts_) sum += size_of_part(each);
    return sum;
  }

  /// Writes `size()` bytes.
  void copy_to(std::byte* out) const {
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

 private:
  static const named_value& find_value(std::string_view name, const named_value* first,
                                       std::size_t count) {
    for (std::size_t k = count; k > 0; --k)
      if (first[k - 1].name == name) return first[k - 1];
    throw error(errc::invalid_argument, diagnostics{.what = "the sample has no value for a column",
                                                    .column = std::string(name)});
  }

  static std::uint64_t size_of_part(const detail::encoded_value& each) {
    return std::visit([](const auto& part) { return std::uint64_t{part.size()}; }, each);
  }

  const sample_layout* layout_;
  std::vector<detail::encoded_value> parts_;
};

}  // namespace mdstream::inline v0
