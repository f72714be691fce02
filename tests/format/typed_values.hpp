#pragma once

// Golden "typed values" (see tests/golden/README.md) to column values, and their comparison.

#include <bit>
#include <cmath>
#include <deque>
#include <mdstream/format/column_value.hpp>
#include <optional>
#include <string>
#include <vector>

#include "format/golden.hpp"

namespace typed_values {

using format_golden::ordered_json;
using mdstream::column_value;
using mdstream::encoding_kind;

/// Keeps what the column values made from it view.
struct arena {
  std::deque<std::string> texts;
  std::deque<mdstream::array_shape> shapes;

  const std::string& keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

inline bool is_number_type(const std::string& t) {
  return mdstream::find_dtype(t).has_value() || t == "int" || t == "float" || t == "bool";
}

inline double number_of(const ordered_json& v) {
  const auto t = v.at("t").get<std::string>();
  if (t == "float32")
    return std::bit_cast<float>(static_cast<std::uint32_t>(format_golden::bits_of(v)));
  if (t == "float16")
    return float{
        mdstream::float16::from_bits(static_cast<std::uint16_t>(format_golden::bits_of(v)))};
  return format_golden::double_of(v);
}

inline mdstream::pil_image image_of(const ordered_json& v, arena& keep) {
  return {.width = v.at("size")[0].get<std::uint32_t>(),
          .height = v.at("size")[1].get<std::uint32_t>(),
          .mode = keep.keep(v.at("mode").get<std::string>()),
          .pixels = mdstream::as_bytes(
              keep.keep(format_golden::from_base64(v.at("raw_b64").get<std::string>())))};
}

/// The column value of a typed value; nothing for those that C++ has no counterpart of.
inline std::optional<column_value> value_of(const ordered_json& v, arena& keep) {
  const auto t = v.at("t").get<std::string>();
  if (t == "bytes")
    return mdstream::as_bytes(
        keep.keep(format_golden::from_base64(v.at("b64").get<std::string>())));
  if (t == "str") return keep.keep(v.at("v").get<std::string>());
  if (t == "bool") return v.at("v").get<bool>();
  if (t == "decimal") return mdstream::parse_decimal(v.at("v").get<std::string>());
  if (t == "json") return keep.keep(v.at("text").get<std::string>());
  if (t == "image") return image_of(v, keep);
  if (t == "lone-surrogate") return keep.keep("\xED\xA0\x80");
  if (t == "ndarray") {
    const auto type = mdstream::find_dtype(v.at("dtype").get<std::string>());
    if (!type) return std::nullopt;
    auto& shape = keep.shapes.emplace_back();
    for (const auto& extent : v.at("shape")) shape.push_back(extent.get<std::uint64_t>());
    return mdstream::any_ndarray(
        *type, shape,
        mdstream::as_bytes(keep.keep(format_golden::from_base64(v.at("b64").get<std::string>()))));
  }
  if (t == "list") {
    mdstream::image_files files;
    std::vector<mdstream::pil_image> images;
    for (const auto& each : v.at("v")) {
      if (each.at("t") == "bytes")
        files.push_back(mdstream::as_bytes(
            keep.keep(format_golden::from_base64(each.at("b64").get<std::string>()))));
      else
        images.push_back(image_of(each, keep));
    }
    if (!files.empty()) return files;
    return images;
  }
  if (t == "int" || (mdstream::find_dtype(t) && !mdstream::is_floating(*mdstream::find_dtype(t)))) {
    const auto digits = v.at("v").get<std::string>();
    const mdstream::json::big_integer whole{digits};
    if (const auto fits = whole.as<std::int64_t>()) return *fits;
    if (const auto fits = whole.as<std::uint64_t>()) return *fits;
    return whole;
  }
  if (is_number_type(t)) return number_of(v);
  return std::nullopt;
}

inline bool same_image_file(mdstream::bytes_view file, encoding_kind kind) {
  const auto text = mdstream::as_text(file);
  return kind == encoding_kind::png || kind == encoding_kind::list_png
             ? text.substr(0, 4) == "\x89PNG"
             : text.substr(0, 2) == "\xFF\xD8";
}

/// Whether `got`, read from a column of this encoding, is the golden value. Image files are
/// compared by their beginning here: their pixels are for the image tests.
inline bool same(const column_value& got, const ordered_json& v, mdstream::encoding type) {
  arena keep;
  using mdstream::bytes_view;
  if (type.kind == encoding_kind::jpeg || type.kind == encoding_kind::png)
    return v.at("t") == "image" && same_image_file(got.as<bytes_view>(), type.kind);
  if (const auto* files = std::get_if<mdstream::image_files>(&got.get())) {
    if (v.at("t") != "list" || files->size() != v.at("v").size()) return false;
    for (const bytes_view file : *files)
      if (!same_image_file(file, type.kind)) return false;
    return true;
  }
  if (const auto* images = std::get_if<std::vector<mdstream::pil_image>>(&got.get())) {
    if (v.at("t") != "list" || images->size() != v.at("v").size()) return false;
    for (std::size_t i = 0; i < images->size(); ++i)
      if (!((*images)[i] == image_of(v.at("v")[i], keep))) return false;
    return true;
  }
  if (type.kind == encoding_kind::json)
    return v.at("t") == "json" &&
           mdstream::json::dump(mdstream::json::parse(got.as<std::string_view>())) ==
               v.at("text").get<std::string>();
  if (type.kind == encoding_kind::str_decimal)
    return v.at("t") == "decimal" &&
           to_string(got.as<mdstream::decimal>()) == v.at("v").get<std::string>();
  if (type.kind == encoding_kind::pkl) return true;
  const auto expected = value_of(v, keep);
  if (!expected) return false;
  if (const double* number = std::get_if<double>(&got.get())) {
    const double* other = std::get_if<double>(&expected->get());
    return other != nullptr &&
           ((std::isnan(*number) && std::isnan(*other)) ||
            std::bit_cast<std::uint64_t>(*number) == std::bit_cast<std::uint64_t>(*other));
  }
  return std::visit(
      [&]<class T>(const T& value) {
        const auto as_digits = [](const column_value& number) -> std::string {
          if (const auto* i = std::get_if<std::int64_t>(&number.get())) return std::to_string(*i);
          if (const auto* u = std::get_if<std::uint64_t>(&number.get())) return std::to_string(*u);
          if (const auto* b = std::get_if<mdstream::json::big_integer>(&number.get()))
            return b->digits;
          return "not an integer";
        };
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, mdstream::json::big_integer>) {
          return as_digits(got) == as_digits(*expected);
        } else if constexpr (std::is_same_v<T, bytes_view>) {
          return v.at("t") == "bytes" &&
                 mdstream::as_text(value) == mdstream::as_text(expected->as<bytes_view>());
        } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
          return v.at("t") == "str" && value == expected->as<std::string_view>();
        } else if constexpr (std::is_same_v<T, mdstream::any_ndarray>) {
          if (v.at("t") != "ndarray") return false;
          const auto& other = expected->as<mdstream::any_ndarray>();
          return value.type() == other.type() && value.shape() == other.shape() &&
                 mdstream::as_text(value.bytes()) == mdstream::as_text(other.bytes());
        } else if constexpr (std::is_same_v<T, mdstream::pil_image>) {
          return v.at("t") == "image" && value == expected->as<mdstream::pil_image>();
        } else {
          return false;
        }
      },
      got.get());
}

}  // namespace typed_values
