#include "values.hpp"

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/format/pickle.hpp>
#include <mdstream/image/jpeg.hpp>
#include <mdstream/image/png.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace cli {

namespace {

std::string hex_bits(std::uint64_t bits, int digits) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(bits));
  return text;
}

// Python's repr: the shortest digits that give the same double back.
std::string float_text(double value) {
  std::string text;
  mds::json::append_repr(text, value);
  return text;
}

json typed_float(const mds::encoding& type, double value) {
  switch (type.kind) {
    case mds::encoding_kind::float16:
      return {{"t", "float16"}, {"bits", hex_bits(mds::float16(value).bits, 4)}};
    case mds::encoding_kind::float32:
      return {{"t", "float32"},
              {"bits", hex_bits(std::bit_cast<std::uint32_t>(static_cast<float>(value)), 8)}};
    case mds::encoding_kind::float64:
      return {{"t", "float64"}, {"bits", hex_bits(std::bit_cast<std::uint64_t>(value), 16)}};
    default:
      return {{"t", "float"},
              {"bits", hex_bits(std::bit_cast<std::uint64_t>(value), 16)},
              {"repr", float_text(value)}};
  }
}

json typed_integer(const mds::encoding& type, const std::string& digits) {
  const mds::dtype scalar = mds::scalar_dtype(type.kind);
  const bool sized = scalar != mds::dtype::none && type.kind != mds::encoding_kind::int_;
  return {{"t", sized ? std::string(to_string(scalar)) : "int"}, {"v", digits}};
}

json typed_pil(const mds::pil_image& image) {
  return {{"t", "image"},
          {"mode", std::string(image.mode)},
          {"size", {image.width, image.height}},
          {"format", nullptr},
          {"raw_b64", mds::detail::to_base64(image.pixels)}};
}

bool is_png(mds::bytes_view file) { return mds::as_text(file).substr(0, 4) == "\x89PNG"; }

json typed_image_file(mds::bytes_view file) {
  const bool png = is_png(file);
  const mds::decoded_image image = png ? mds::decode_png(file) : mds::decode_jpeg(file);
  static constexpr std::string_view png_modes[] = {"", "L", "LA", "RGB", "RGBA"};
  static constexpr std::string_view jpeg_modes[] = {"", "L", "", "RGB", "CMYK"};
  const std::string_view mode = image.bits == 16 && image.channels == 1 ? "I;16"
                                : png                                   ? png_modes[image.channels]
                                      : jpeg_modes[image.channels];
  return {{"t", "image"},
          {"mode", std::string(mode)},
          {"size", {image.width, image.height}},
          {"format", png ? "PNG" : "JPEG"},
          {"raw_b64", mds::detail::to_base64(image.pixels)}};
}

json typed_pickle(const mds::pickle_value& value);

json typed_pickles(const std::vector<mds::pickle_value>& values) {
  json out = json::array();
  for (const mds::pickle_value& each : values) out.push_back(typed_pickle(each));
  return out;
}

json typed_pickle(const mds::pickle_value& value) {
  using pickled = mds::detail::pickle_kind;
  switch (value.type) {
    case pickled::none: return {{"t", "null"}};
    case pickled::boolean: return {{"t", "bool"}, {"v", value.flag}};
    case pickled::integer: return {{"t", "int"}, {"v", value.text}};
    case pickled::real: return typed_float({}, value.number);
    case pickled::text: return {{"t", "str"}, {"v", value.text}};
    case pickled::list: return {{"t", "list"}, {"v", typed_pickles(value.items)}};
    case pickled::tuple: return {{"t", "tuple"}, {"v", typed_pickles(value.items)}};
    case pickled::set: return {{"t", "set"}, {"v", typed_pickles(value.items)}};
    case pickled::dict: {
      json pairs = json::array();
      for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
        pairs.push_back(
            json::array({typed_pickle(value.items[i]), typed_pickle(value.items[i + 1])}));
      return {{"t", "dict"}, {"v", std::move(pairs)}};
    }
    case pickled::array:
      return {{"t", "ndarray"},
              {"dtype", std::string(to_string(value.elements))},
              {"shape", value.shape},
              {"b64", mds::detail::to_base64(mds::as_bytes(value.text))}};
    default: return {{"t", "bytes"}, {"b64", mds::detail::to_base64(mds::as_bytes(value.text))}};
  }
}

// Plain data; of what is more, the bytes, which nothing executes.
json typed_pickle(mds::bytes_view bytes) {
  try {
    return typed_pickle(mds::read_pickle(bytes));
  } catch (const mds::error& e) {
    if (e.code() != mds::errc::unsupported) throw;
    return {{"t", "pickle"}, {"b64", mds::detail::to_base64(bytes)}};
  }
}

json typed_bytes(const mds::encoding& type, mds::bytes_view bytes) {
  if (type.kind == mds::encoding_kind::pkl) return typed_pickle(bytes);
  if (type.kind == mds::encoding_kind::jpeg || type.kind == mds::encoding_kind::png) {
    return typed_image_file(bytes);
  }
  return {{"t", "bytes"}, {"b64", mds::detail::to_base64(bytes)}};
}

json typed_text(const mds::encoding& type, std::string_view text) {
  if (type.kind == mds::encoding_kind::json) {
    return {{"t", "json"}, {"text", mds::json::dump(mds::json::parse(text))}};
  }
  return {{"t", "str"}, {"v", std::string(text)}};
}

json shape_of(const mds::any_ndarray& array) {
  json out = json::array();
  for (const std::uint64_t extent : array.shape()) out.push_back(extent);
  return out;
}

// One element of an array as a JSON number; what JSON has no number for is null.
json element(const mds::any_ndarray& array, std::size_t index) {
  return mds::visit_dtype(array.type(), [&]<class T>(T) -> json {
    const T value = mds::load<T>(array.bytes().data() + index * sizeof(T));
    if constexpr (std::is_integral_v<T>) {
      return value;
    } else {
      const double number = static_cast<double>(static_cast<float>(value));
      const double exact = std::is_same_v<T, double>
                               ? std::bit_cast<double>(mds::load<std::uint64_t>(
                                     array.bytes().data() + index * sizeof(T)))
                               : number;
      return std::isfinite(exact) ? json(exact) : json(nullptr);
    }
  });
}

json nested(const mds::any_ndarray& array, std::size_t axis, std::size_t& next) {
  if (axis == array.shape().size()) return element(array, next++);
  json out = json::array();
  for (std::uint64_t i = 0; i < array.shape()[axis]; ++i)
    out.push_back(nested(array, axis + 1, next));
  return out;
}

// Integers of any size stay integers where 64 bits hold them.
json plain_integer(const mds::json::big_integer& whole) {
  if (const auto fits = whole.as<std::int64_t>()) return *fits;
  if (const auto fits = whole.as<std::uint64_t>()) return *fits;
  return whole.digits;
}

template <class... F>
struct overloaded : F... {
  using F::operator()...;
};
template <class... F>
overloaded(F...) -> overloaded<F...>;  // clang before 17 does not find it by itself

}  // namespace

json typed_value(const mds::encoding& type, const mds::column_value& value) {
  return std::visit(
      overloaded{
          [&](mds::bytes_view bytes) { return typed_bytes(type, bytes); },
          [&](std::string_view text) { return typed_text(type, text); },
          [&](const std::string& text) { return typed_text(type, text); },
          [&](bool flag) { return json{{"t", "bool"}, {"v", flag}}; },
          [&](std::int64_t whole) { return typed_integer(type, std::to_string(whole)); },
          [&](std::uint64_t whole) { return typed_integer(type, std::to_string(whole)); },
          [&](const mds::json::big_integer& whole) { return typed_integer(type, whole.digits); },
          [&](double number) { return typed_float(type, number); },
          [&](const mds::decimal& number) {
            return json{{"t", "decimal"}, {"v", to_string(number)}};
          },
          [&](const mds::any_ndarray& array) {
            return json{{"t", "ndarray"},
                        {"dtype", std::string(to_string(array.type()))},
                        {"shape", shape_of(array)},
                        {"b64", mds::detail::to_base64(array.bytes())}};
          },
          [&](const mds::pil_image& image) { return typed_pil(image); },
          [&](const std::vector<mds::pil_image>& images) {
            json list = json::array();
            for (const auto& image : images) list.push_back(typed_pil(image));
            return json{{"t", "list"}, {"v", std::move(list)}};
          },
          [&](const mds::image_files& files) {
            json list = json::array();
            for (const mds::bytes_view file : files) list.push_back(typed_image_file(file));
            return json{{"t", "list"}, {"v", std::move(list)}};
          },
          [&](const mds::json::value* tree) {
            return json{{"t", "json"}, {"text", mds::json::dump(*tree)}};
          }},
      value.get());
}

json plain_value(const mds::encoding& type, const mds::column_value& value) {
  return std::visit(
      overloaded{
          [&](mds::bytes_view bytes) { return json(mds::detail::to_base64(bytes)); },
          [&](std::string_view text) {
            if (type.kind != mds::encoding_kind::json) return json(std::string(text));
            return json::parse(mds::json::dump(mds::json::parse(text)));
          },
          [&](const std::string& text) { return json(text); },
          [&](bool flag) { return json(flag); }, [&](std::int64_t whole) { return json(whole); },
          [&](std::uint64_t whole) { return json(whole); },
          [&](const mds::json::big_integer& whole) { return plain_integer(whole); },
          [&](double number) { return std::isfinite(number) ? json(number) : json(nullptr); },
          [&](const mds::decimal& number) { return json(to_string(number)); },
          [&](const mds::any_ndarray& array) {
            std::size_t next = 0;
            return nested(array, 0, next);
          },
          [&](const mds::pil_image& image) { return json(mds::detail::to_base64(image.pixels)); },
          [&](const std::vector<mds::pil_image>& images) {
            json list = json::array();
            for (const auto& image : images) list.push_back(mds::detail::to_base64(image.pixels));
            return list;
          },
          [&](const mds::image_files& files) {
            json list = json::array();
            for (const mds::bytes_view file : files) list.push_back(mds::detail::to_base64(file));
            return list;
          },
          [&](const mds::json::value* tree) { return json::parse(mds::json::dump(*tree)); }},
      value.get());
}

}  // namespace cli
