#pragma once

/// A value of a column whose type is known at run time only, for reading and writing by name.

#include <mdstream/core/json/writer.hpp>
#include <mdstream/format/column_types.hpp>
#include <mdstream/format/sample_layout.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0 {

/// A value of any encoding. Views what it was made from: bytes, text and arrays have to outlive it.
///
/// Reading gives: bytes_view for `bytes`, images and pickles; std::string_view for `str` and
/// `json`; std::int64_t or std::uint64_t for integers; double for floats, to which every one
/// converts exactly; any_ndarray for arrays. Writing takes the same, and converts what fits.
class column_value {
 public:
  using storage = std::variant<bytes_view, std::string_view, bool, std::int64_t, std::uint64_t,
                               double, any_ndarray>;

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
  template <detail::byte_string V>
    requires(!std::same_as<V, bytes_view>)
  column_value(const V& value) : data_(detail::bytes_of(value)) {}

  [[nodiscard]] const storage& get() const noexcept { return data_; }

  /// The value as `T`, one of the types of `storage`.
  /// Throws errc::schema_mismatch if it is another one.
  template <class T>
  [[nodiscard]] const T& as() const {
    if (const T* found = std::get_if<T>(&data_)) return *found;
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

/// The value of column `column` in an MDS sample. It views the sample and the layout.
/// Throws errc::corrupt, naming the column, if the bytes are no such value.
[[nodiscard]] inline column_value read_column(const sample_layout& layout, bytes_view sample,
                                              std::size_t column) {
  const bytes_view value = layout.locate(sample, column);
  const column_layout& about = layout[column];
  try {
    switch (about.type.kind) {
      case encoding_kind::str:
      case encoding_kind::json: return detail::checked_text(value);
      case encoding_kind::ndarray: return parse_ndarray(about.type, value);
      default:
        if (scalar_dtype(about.type.kind) != dtype::none)
          return detail::decode_scalar(about.type.kind, value);
        return value;
    }
  } catch (const error& e) {
    diagnostics where = e.where();
    where.column = about.name;
    throw error(e.code(), std::move(where));
  }
}

/// The value of the column of that name. Throws errc::not_found if there is none.
[[nodiscard]] inline column_value read_column(const sample_layout& layout, bytes_view sample,
                                              std::string_view name) {
  return read_column(layout, sample, layout.at(name));
}

/// Encodes values of columns that are known at run time; remembers one sample.
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
      const named_value* found = nullptr;
      for (std::size_t k = 0; k < count; ++k)
        if (first[k].name == about.name) found = first + k;
      if (found == nullptr)
        throw error(
            errc::invalid_argument,
            diagnostics{.what = "the sample has no value for a column", .column = about.name});
      try {
        parts_[i] = encode_value(about.type, found->value);
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
    for (const part& each : parts_) sum += size_of_part(each);
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
      std::visit([out](const auto& p) { p.copy_to(out); }, parts_[i]);
      out += bytes;
    }
  }

 private:
  struct scalar_part {
    std::byte bytes[8];
    std::size_t count;
    [[nodiscard]] std::size_t size() const noexcept { return count; }
    void copy_to(std::byte* out) const noexcept { std::memcpy(out, bytes, count); }
  };
  using part = std::variant<detail::encoded_bytes, scalar_part, detail::encoded_array>;

  static std::uint64_t size_of_part(const part& each) {
    return std::visit([](const auto& p) { return std::uint64_t{p.size()}; }, each);
  }

  static part encode_value(const encoding& type, const column_value& value) {
    if (const bytes_view* raw = std::get_if<bytes_view>(&value.get()))
      return detail::encode_verbatim(type, *raw);
    if (scalar_dtype(type.kind) != dtype::none) return encode_scalar(type.kind, value);
    if (type.kind == encoding_kind::ndarray) {
      const any_ndarray* array = std::get_if<any_ndarray>(&value.get());
      if (array == nullptr) refuse(type);
      return detail::encoded_array{make_ndarray_header(type, array->type(), array->shape()),
                                   array->bytes()};
    }
    const std::string_view* text = std::get_if<std::string_view>(&value.get());
    if (text == nullptr) refuse(type);
    if (type.kind == encoding_kind::str) return column_traits<str>::encode(*text);
    if (type.kind == encoding_kind::json) return column_traits<json_text>::encode(*text);
    refuse(type);
  }

  static part encode_scalar(encoding_kind kind, const column_value& value) {
    return detail::visit_scalar_kind(kind, [&]<class T>(T) -> part {
      return std::visit(
          [&](const auto& v) -> part {
            using V = std::remove_cvref_t<decltype(v)>;
            constexpr bool number = std::is_arithmetic_v<V>;
            constexpr bool fits = std::is_integral_v<V> || !std::is_integral_v<T>;
            if constexpr (number && fits) {
              scalar_part out{};
              store_to(out.bytes, detail::scalar_from<T>(v));
              out.count = sizeof(T);
              return out;
            } else {
              refuse(encoding{.kind = kind});
            }
          },
          value.get());
    });
  }

  [[noreturn]] static void refuse(const encoding& type) {
    throw error(errc::invalid_argument,
                "a value of this type does not go into a column of encoding " + to_string(type));
  }

  const sample_layout* layout_;
  std::vector<part> parts_;
};

}  // namespace mdstream::inline v0
