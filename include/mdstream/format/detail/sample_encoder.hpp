#pragma once

/// Encodes MDS samples of columns that are known at run time only.

#include <mdstream/format/column_value.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
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

// Below what a value holds is asked for type by type: std::visit with each column type and each
// type that a value may hold was a fifteenth of the time that a loader takes to compile.

/// The number that `value` is in a column of `T`.
template <element T>
[[nodiscard]] T held_number(encoding_kind kind, const column_value& value) {
  const column_value::storage& held = value.get();
  if (const auto* flag = std::get_if<bool>(&held)) return number_from<T>(*flag, kind);
  if (const auto* number = std::get_if<std::int64_t>(&held)) return number_from<T>(*number, kind);
  if (const auto* number = std::get_if<std::uint64_t>(&held)) return number_from<T>(*number, kind);
  if (const auto* number = std::get_if<double>(&held)) return number_from<T>(*number, kind);
  if (const auto* number = std::get_if<json::big_integer>(&held))
    return number_from_text<T>(number->digits);
  const std::optional<std::string_view> text = value.text();
  if (!text || kind == encoding_kind::int_) refuse_value(encoding{.kind = kind});
  return number_from_text<T>(*text);
}

/// Encodes as the column type `T` if the value holds one of `Types`, as it is.
template <class T, class... Types>
[[nodiscard]] encoded_value encode_held(const encoding& type, const column_value& value) {
  encoded_value encoded;
  const auto try_as = [&](const auto* held) {
    if (held != nullptr) encoded = column_traits<T>::encode(*held);
    return held != nullptr;
  };
  if (!(try_as(std::get_if<Types>(&value.get())) || ...)) refuse_value(type);
  return encoded;
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
