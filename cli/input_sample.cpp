#include "input_sample.hpp"

#include <mdstream/core/detail/base64.hpp>
#include <mdstream/format/row_values.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

namespace cli {

namespace {

using tree = mds::json::value;
using mds::json::kind;

[[noreturn]] void refuse(std::string what) {
  throw mds::error(mds::errc::corrupt, std::move(what));
}

mds::json::big_integer integer_of(const tree& from) {
  if (from.type() == kind::integer) return {from.digits()};
  if (auto parsed = mds::parse_python_int(from.as<std::string>("v"))) return *std::move(parsed);
  refuse("\"" + from.as<std::string>() + "\" is not an integer");
}

mds::column_value smallest_integer(mds::json::big_integer whole) {
  if (const auto fits = whole.as<std::int64_t>()) return *fits;
  if (const auto fits = whole.as<std::uint64_t>()) return *fits;
  return whole;
}

template <class Bits>
Bits bits_of(const tree& from) {
  const std::string& text = from.get<std::string>("bits");
  Bits bits{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, bits, 16);
  if (failure != std::errc{} || stop != end)
    refuse("\"" + text + "\" are not the bits of a number");
  return bits;
}

mds::decimal decimal_of(const std::string& text) {
  if (auto parsed = mds::parse_decimal(text)) return *std::move(parsed);
  refuse("\"" + text + "\" is not a decimal number");
}

mds::array_shape shape_of(const mds::json::array& extents) {
  if (extents.size() > mds::array_shape::max_rank) refuse("an array has at most 64 dimensions");
  mds::array_shape out;
  for (const tree& extent : extents) out.push_back(extent.as<std::uint64_t>("shape"));
  return out;
}

// The shape that nested lists begin with; whether all have it shows when their numbers are stored.
mds::array_shape shape_of_nested(const tree& from) {
  mds::array_shape out;
  const tree* at = &from;
  while (at->type() == kind::array) {
    const auto& items = at->as<mds::json::array>();
    if (out.rank() == mds::array_shape::max_rank) refuse("an array has at most 64 dimensions");
    out.push_back(items.size());
    if (items.empty()) break;
    at = &items.front();
  }
  return out;
}

bool holds_reals(const tree& from) {
  if (from.type() != kind::array) return from.type() == kind::real;
  const auto& items = from.as<mds::json::array>();
  return std::any_of(items.begin(), items.end(), holds_reals);
}

template <class T>
void append_element(std::vector<std::byte>& out, const tree& from) {
  T value{};
  if constexpr (std::is_integral_v<T>)
    value = from.as<T>("an element");
  else
    value = T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(
        from.as<double>("an element")));
  std::byte raw[sizeof(T)];
  mds::store_to(raw, value);
  out.insert(out.end(), raw, raw + sizeof(T));
}

template <class T>
void append_elements(std::vector<std::byte>& out, const tree& from, const mds::array_shape& shape,
                     std::size_t axis) {
  if (axis == shape.rank()) return append_element<T>(out, from);
  const auto& items = from.as<mds::json::array>("an array");
  if (items.size() != shape[axis]) refuse("the lists of an array differ in length");
  for (const tree& item : items) append_elements<T>(out, item, shape, axis + 1);
}

}  // namespace

input_sample::input_sample(const mds::sample_layout& columns, std::string_view line, bool typed)
    : line_(mds::json::parse(line)) {
  const tree* sample = line_.find("sample");
  const bool has_place = typed && sample != nullptr && sample->find("t") == nullptr;
  if (!has_place) sample = &line_;
  if (sample->type() != kind::object) refuse("a sample is an object with a member for each column");
  for (const auto& [name, value] : sample->as<mds::json::object>()) {
    const auto is_it = [&wanted = name](const auto& column) { return column.name == wanted; };
    if (std::ranges::none_of(columns.columns(), is_it)) {
      refuse("the member \"" + name + "\" has no column: add --column " + name + "=ENCODING");
    }
  }
  for (const mds::column_layout& column : columns.columns()) {
    const tree* const found = sample->find(column.name);
    if (found == nullptr) continue;
    try {
      values_.push_back({column.name, typed ? typed_value(column.type, *found)
                                            : plain_value(column.type, *found)});
    } catch (const mds::error& e) {
      mds::diagnostics where = e.where();
      where.column = column.name;
      throw mds::error(e.code(), std::move(where));
    }
  }
}

mds::bytes_view input_sample::base64_bytes(const tree& from) {
  auto bytes = mds::detail::from_base64(from.as<std::string>());
  if (!bytes) refuse("a text is not base64");
  return bytes_.emplace_back(*std::move(bytes));
}

mds::column_value input_sample::array_of(mds::dtype type, const mds::array_shape& shape,
                                         mds::bytes_view bytes) {
  const std::uint64_t size = mds::size_of(type);
  if (bytes.size() % size != 0 || shape.elements() != bytes.size() / size) {
    refuse(std::to_string(bytes.size()) + " bytes are no array of " + std::string(to_string(type)) +
           " of shape (" + to_string(shape) + ")");
  }
  return mds::any_ndarray(type, shapes_.emplace_back(shape), bytes);
}

mds::pil_image input_sample::typed_image(const tree& from) {
  const auto& size = from.get<mds::json::array>("size");
  if (size.size() != 2) refuse("the size of an image is [width, height]");
  return {.width = size[0].as<std::uint32_t>("size"),
          .height = size[1].as<std::uint32_t>("size"),
          .mode = from.get<std::string>("mode"),
          .pixels = base64_bytes(from.at("raw_b64"))};
}

mds::column_value input_sample::typed_list(const mds::encoding& type, const tree& from) {
  mds::image_files files;
  std::vector<mds::pil_image> images;
  for (const tree& each : from.get<mds::json::array>("v")) {
    if (type.kind == mds::encoding_kind::list_pil)
      images.push_back(typed_image(each));
    else
      files.push_back(base64_bytes(each.at("b64")));
  }
  if (type.kind == mds::encoding_kind::list_pil) return images;
  return files;
}

mds::column_value input_sample::typed_array(const tree& from) {
  const std::string& name = from.get<std::string>("dtype");
  const auto type = mds::find_dtype(std::string_view(name));
  if (!type) refuse("there is no dtype \"" + name + '"');
  return array_of(*type, shape_of(from.get<mds::json::array>("shape")),
                  base64_bytes(from.at("b64")));
}

mds::column_value input_sample::typed_value(const mds::encoding& type, const tree& from) {
  const std::string& t = from.get<std::string>("t");
  if (t == "bytes") return base64_bytes(from.at("b64"));
  if (t == "str") return std::string_view(from.get<std::string>("v"));
  if (t == "json") return std::string_view(from.get<std::string>("text"));
  if (t == "bool") return from.get<bool>("v");
  if (t == "decimal") return decimal_of(from.get<std::string>("v"));
  if (t == "ndarray") return typed_array(from);
  if (t == "image") return typed_image(from);
  if (t == "list") return typed_list(type, from);
  if (t == "float" || t == "float64") return std::bit_cast<double>(bits_of<std::uint64_t>(from));
  if (t == "float32") return std::bit_cast<float>(bits_of<std::uint32_t>(from));
  if (t == "float16") return mds::float16::from_bits(bits_of<std::uint16_t>(from));
  const auto scalar = mds::find_dtype(std::string_view(t));
  if (t == "int" || (scalar && !mds::is_floating(*scalar)))
    return smallest_integer(integer_of(from.at("v")));
  refuse("a value of type \"" + t + "\" can not be written");
}

mds::column_value input_sample::nested_array(const mds::encoding& type, const tree& from) {
  const mds::dtype given = type.type;
  const mds::dtype elements = given != mds::dtype::none ? given
                              : holds_reals(from)       ? mds::dtype::float64
                                                        : mds::dtype::int64;
  const mds::array_shape shape = shape_of_nested(from);
  auto& bytes = bytes_.emplace_back();
  mds::visit_dtype(elements, [&]<class T>(T) { append_elements<T>(bytes, from, shape, 0); });
  return array_of(elements, shape, bytes);
}

mds::column_value input_sample::plain_value(const mds::encoding& type, const tree& from) {
  using mds::encoding_kind;
  switch (type.kind) {
    case encoding_kind::bytes:
    case encoding_kind::jpeg:
    case encoding_kind::png:
    case encoding_kind::pkl: return base64_bytes(from);
    case encoding_kind::str: return std::string_view(from.as<std::string>());
    case encoding_kind::json: return &from;
    case encoding_kind::str_int: return smallest_integer(integer_of(from));
    case encoding_kind::str_decimal:
      return decimal_of(from.type() == kind::integer ? from.digits() : from.as<std::string>());
    case encoding_kind::str_float:
    case encoding_kind::float_:
    case encoding_kind::float16:
    case encoding_kind::float32:
    case encoding_kind::float64: return from.as<double>();
    case encoding_kind::ndarray: return nested_array(type, from);
    case encoding_kind::jpeg_array:
    case encoding_kind::jpegarray:
    case encoding_kind::list_jpeg:
    case encoding_kind::list_png: {
      mds::image_files files;
      for (const tree& each : from.as<mds::json::array>()) files.push_back(base64_bytes(each));
      return files;
    }
    case encoding_kind::pil:
    case encoding_kind::list_pil:
      refuse("an image needs mode and size, which typed values have: --typed");
    default: break;
  }
  if (from.type() == kind::boolean) return from.as<bool>();
  return smallest_integer({from.digits()});
}

}  // namespace cli
