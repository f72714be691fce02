#pragma once

/// What the bytes of a column mean: the encodings of MDS, and the three cell types of JSONL and XSV
/// shards. Parsed at run time from the index, or made while compiling by a schema.

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/dtype.hpp>
#include <mdstream/format/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// What a column's bytes are; `encoding` has the sizes to it.
enum class encoding_kind : std::uint8_t {
  bytes,
  str,
  int_,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  float16,
  float32,
  float64,
  ndarray,
  str_int,
  str_float,
  str_decimal,
  json,
  pil,
  jpeg,
  png,
  jpeg_array,
  jpegarray,
  list_pil,
  list_jpeg,
  list_png,
  pkl,
  float_,  ///< JSONL and XSV only
  other,   ///< MDS does not define it: read as bytes
};

namespace detail {

inline constexpr std::array<std::string_view, 28> mds_encoding_names{
    "bytes",   "str",        "int",       "uint8",       "uint16",     "uint32",    "uint64",
    "int8",    "int16",      "int32",     "int64",       "float16",    "float32",   "float64",
    "ndarray", "str_int",    "str_float", "str_decimal", "json",       "pil",       "jpeg",
    "png",     "jpeg_array", "jpegarray", "list[pil]",   "list[jpeg]", "list[png]", "pkl"};

}  // namespace detail

/// One column's encoding. `type` and `dims` say more about `ndarray`, and how large values are of
/// `other`; they are empty otherwise.
struct encoding {
  encoding_kind kind{};
  dtype type = dtype::none;  ///< ndarray: the static dtype; `none` if each value brings its own
  array_shape dims{};        ///< ndarray: the static shape; rank 0 if each value brings its own;
                             ///< other: the bytes of every value; rank 0 if values vary

  friend constexpr bool operator==(const encoding&, const encoding&) = default;
};

/// The dtype of a scalar encoding (`int` is int64), and `none` for all others.
[[nodiscard]] constexpr dtype scalar_dtype(encoding_kind kind) noexcept {
  switch (kind) {
    case encoding_kind::uint8: return dtype::uint8;
    case encoding_kind::uint16: return dtype::uint16;
    case encoding_kind::uint32: return dtype::uint32;
    case encoding_kind::uint64: return dtype::uint64;
    case encoding_kind::int8: return dtype::int8;
    case encoding_kind::int16: return dtype::int16;
    case encoding_kind::int32: return dtype::int32;
    case encoding_kind::int_:
    case encoding_kind::int64: return dtype::int64;
    case encoding_kind::float16: return dtype::float16;
    case encoding_kind::float32: return dtype::float32;
    case encoding_kind::float64: return dtype::float64;
    default: return dtype::none;
  }
}

/// An encoding that MDS does not define, with values of this many bytes; 0: values vary in size.
[[nodiscard]] constexpr encoding other_encoding(std::uint64_t bytes) noexcept {
  encoding out{.kind = encoding_kind::other};
  if (bytes != 0) out.dims.push_back(bytes);
  return out;
}

/// Bytes of every value of the column in an MDS sample, or nothing where values differ in size.
[[nodiscard]] constexpr std::optional<std::uint64_t> fixed_size(const encoding& type) noexcept {
  if (const dtype scalar = scalar_dtype(type.kind); scalar != dtype::none) return size_of(scalar);
  if (type.kind == encoding_kind::other && !type.dims.empty()) return type.dims.elements();
  if (type.kind != encoding_kind::ndarray || type.type == dtype::none || type.dims.empty())
    return std::nullopt;
  const std::uint64_t elements = type.dims.elements();
  const std::uint64_t each = size_of(type.type);
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return elements > most / each ? most : elements * each;
}

/// True for `pkl`, whose decoding in Python runs code of the data's choice.
[[nodiscard]] constexpr bool is_unsafe(const encoding& type) noexcept {
  return type.kind == encoding_kind::pkl;
}

/// The canonical text: "int", "ndarray:uint16:3,4". Parsing it gives an equal encoding. The name of
/// another encoding is not known here: its text is "other".
[[nodiscard]] inline std::string to_string(const encoding& type) {
  if (type.kind == encoding_kind::float_) return "float";
  if (type.kind == encoding_kind::other) return "other";
  std::string out(detail::mds_encoding_names[static_cast<std::size_t>(type.kind)]);
  if (type.type != dtype::none) out.append(":").append(to_string(type.type));
  if (!type.dims.empty()) out.append(":").append(to_string(type.dims));
  return out;
}

namespace detail {

/// A positive extent as Python's int() reads it: spaces around, a `+`, `_` between digits.
[[nodiscard]] constexpr std::optional<std::uint64_t> parse_extent(std::string_view text) noexcept {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  std::uint64_t value = 0;
  bool after_digit = false;
  for (const char c : text) {
    if (c == '_' && after_digit) {
      after_digit = false;
      continue;
    }
    if (c < '0' || c > '9') return std::nullopt;
    if (value > (std::numeric_limits<std::uint64_t>::max() - 9) / 10) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
    after_digit = true;
  }
  if (!after_digit || value == 0) return std::nullopt;
  return value;
}

[[nodiscard]] constexpr std::optional<array_shape> parse_dims(std::string_view text) {
  array_shape dims;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::optional<std::uint64_t> extent = parse_extent(text.substr(0, comma));
    if (!extent || dims.rank() == array_shape::max_rank) return std::nullopt;
    dims.push_back(*extent);
    if (comma == std::string_view::npos) return dims;
    text.remove_prefix(comma + 1);
  }
}

[[nodiscard]] constexpr std::optional<encoding> parse_ndarray_config(std::string_view config) {
  encoding out{.kind = encoding_kind::ndarray};
  if (config.empty()) return out;
  const std::size_t colon = config.find(':');
  const std::optional<dtype> type = find_dtype(config.substr(0, colon));
  if (!type) return std::nullopt;
  out.type = *type;
  if (colon == std::string_view::npos) return out;
  const std::optional<array_shape> dims = parse_dims(config.substr(colon + 1));
  if (!dims) return std::nullopt;
  out.dims = *dims;
  return out;
}

}  // namespace detail

/// The encoding of an MDS column with that text, as `column_encodings` of the index has it, or
/// nothing if there is none.
[[nodiscard]] constexpr std::optional<encoding> find_encoding(std::string_view text) {
  if (text.substr(0, 8) == "ndarray:") return detail::parse_ndarray_config(text.substr(8));
  for (std::size_t i = 0; i < detail::mds_encoding_names.size(); ++i)
    if (detail::mds_encoding_names[i] == text)
      return encoding{.kind = static_cast<encoding_kind>(i)};
  return std::nullopt;
}

/// As `find_encoding`. Throws errc::invalid_argument if there is no such encoding.
[[nodiscard]] inline encoding parse_encoding(std::string_view text) {
  if (const std::optional<encoding> found = find_encoding(text)) return *found;
  throw error(errc::invalid_argument, "\"" + std::string(text) + "\" is not an encoding of MDS");
}

/// The encoding of a JSONL or XSV column: "str", "int" or "float"; nothing for any other text.
[[nodiscard]] constexpr std::optional<encoding> find_cell_encoding(std::string_view text) noexcept {
  if (text == "str") return encoding{.kind = encoding_kind::str};
  if (text == "int") return encoding{.kind = encoding_kind::int_};
  if (text == "float") return encoding{.kind = encoding_kind::float_};
  return std::nullopt;
}

}  // namespace mdstream::inline v0
