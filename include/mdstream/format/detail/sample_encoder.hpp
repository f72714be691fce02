#pragma once

/// Encodes MDS samples of columns that are known at run time only.

#include <mdstream/format/column_value.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

namespace mdstream::inline v0::detail {

/// A fixed number of bytes of a scalar column.
struct encoded_number {
  std::byte bytes[8];
  std::size_t count;
  [[nodiscard]] std::size_t size() const noexcept { return count; }
  void copy_to(std::byte* out) const noexcept { std::memcpy(out, bytes, count); }
};

/// A value ready to be copied into a sample.
using encoded_value = std::variant<encoded_bytes, encoded_number, encoded_array, encoded_text>;

[[noreturn]] void refuse_value(const encoding& type);

/// Any number that a column of `T` takes: as Python converts it, but out of range is an error.
template <element T, class V>
[[nodiscard]] T number_from(const V& value, encoding_kind kind) {
  if constexpr (scalar_for<V, T>) {
    return scalar_from<T>(value);
  } else if (kind == encoding_kind::int_) {
    refuse_value(encoding{.kind = kind});
  } else if constexpr (std::same_as<V, double>) {
    // Its whole part counts. Of 64 bits `least - 1` is `least`.
    constexpr double least = static_cast<double>(std::numeric_limits<T>::min());
    constexpr double beyond = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    if (!((value >= least || value > least - 1) && value < beyond)) {
      std::string text;
      json::append_repr(text, value);
      throw error(errc::invalid_argument,
                  text + " does not fit into " + std::string(to_string(dtype_of<T>)));
    }
    return static_cast<T>(value);
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

/// Encodes a value for a column of the encoding `type`. The result views the value.
/// Throws errc::invalid_argument if it does not fit.
[[nodiscard]] detail::encoded_value encode_value(const encoding& type, const column_value& value);

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
  void encode(const named_value* first, std::size_t count);

  /// Bytes of the encoded sample.
  [[nodiscard]] std::uint64_t size() const;

  /// Writes `size()` bytes.
  void copy_to(std::byte* out) const;

 private:
  static const named_value& find_value(std::string_view name, const named_value* first,
                                       std::size_t count);

  static std::uint64_t size_of_part(const detail::encoded_value& each);

  const sample_layout* layout_;
  std::vector<detail::encoded_value> parts_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/sample_encoder.ipp>
#endif
