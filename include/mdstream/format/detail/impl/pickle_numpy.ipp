#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/format/detail/pickle_numpy.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string long_digits(std::string_view bytes) {
  if (bytes.size() > 4096) fail_plain("holds an integer of more than 4096 bytes");
  const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
  // the magnitude in 32-bit digits, the least first
  std::vector<std::uint32_t> words((bytes.size() + 3) / 4 + 1, negative ? 0xFFFFFFFFU : 0U);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const unsigned shift = 8 * (i % 4);
    words[i / 4] = (words[i / 4] & ~(0xFFU << shift)) |
                   static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << shift;
  }
  if (negative) {
    bool carry = true;
    for (std::uint32_t& word : words) {
      word = ~word + (carry ? 1U : 0U);
      carry = carry && word == 0;
    }
  }
  std::string out;
  while (!words.empty()) {
    std::uint64_t rest = 0;
    for (std::size_t i = words.size(); i-- > 0;) {
      rest = rest << 32 | words[i];
      words[i] = static_cast<std::uint32_t>(rest / 1'000'000'000);
      rest %= 1'000'000'000;
    }
    while (!words.empty() && words.back() == 0) words.pop_back();
    for (int i = 0; i < 9 && (rest != 0 || !words.empty()); ++i, rest /= 10)
      out += static_cast<char>('0' + rest % 10);
  }
  if (out.empty()) out = "0";
  if (negative) out += '-';
  std::reverse(out.begin(), out.end());
  return out;
}

/// "u2", "f8" and the like.
MDSTREAM_INLINE dtype numpy_dtype(std::string_view code) {
  if (!code.empty() && (code.front() == '<' || code.front() == '|')) code.remove_prefix(1);
  for (const dtype type : all_dtypes) {
    const char letter = is_floating(type) ? 'f' : static_cast<unsigned>(type) % 2 != 0 ? 'i' : 'u';
    const char digits[2] = {letter, static_cast<char>('0' + size_of(type))};
    if (code == std::string_view(digits, 2)) return type;
  }
  fail_plain("holds an array of the type \"" + std::string(code) + "\"");
}

MDSTREAM_INLINE std::vector<std::uint64_t> numpy_shape(const pickle_node& tuple,
                                                       const std::vector<pickle_node>& nodes) {
  std::vector<std::uint64_t> out;
  for (const std::uint32_t item : tuple.items) {
    const std::string& digits = nodes[item].text;
    std::uint64_t extent = 0;
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), extent);
    if (nodes[item].type != pickle_kind::integer || result.ec != std::errc{})
      fail_plain("holds an array whose shape is none");
    out.push_back(extent);
  }
  return out;
}

/// Elements in the order of Fortran, the first extent fastest, to C order.
MDSTREAM_INLINE std::string to_c_order(const std::string& values,
                                       const std::vector<std::uint64_t>& shape, std::size_t each) {
  std::string out(values.size(), '\0');
  std::vector<std::uint64_t> index(shape.size(), 0);
  for (std::size_t at = 0; at + each <= values.size(); at += each) {
    std::uint64_t target = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) target = target * shape[i] + index[i];
    out.replace(static_cast<std::size_t>(target) * each, each, values, at, each);
    for (std::size_t i = 0; i < shape.size() && ++index[i] == shape[i]; ++i) index[i] = 0;
  }
  return out;
}

/// Fills in an array whose bytes have to fit its shape.
MDSTREAM_INLINE void set_array(pickle_node& array, dtype elements, std::vector<std::uint64_t> shape,
                               const std::string& values, bool fortran) {
  std::uint64_t bytes = size_of(elements);
  for (const std::uint64_t extent : shape) {
    if (extent != 0 && bytes > values.size() / extent)
      fail_plain("holds an array with too few elements");
    bytes *= extent;
  }
  if (bytes != values.size()) fail_plain("holds an array whose elements do not fit its shape");
  array.type = pickle_kind::array;
  array.elements = elements;
  array.text = fortran ? to_c_order(values, shape, size_of(elements)) : values;
  array.shape = std::move(shape);
}

/// bytes of protocol 2: _codecs.encode(text, "latin1").
MDSTREAM_INLINE std::string latin1(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const code_point next = decode_utf8(text, true);
    if (next.bytes == 0 || next.value > 0xFF) fail_plain("holds bytes that are none");
    out += static_cast<char>(next.value);
    text.remove_prefix(next.bytes);
  }
  return out;
}

MDSTREAM_INLINE pickle_node call_plain(const std::string& name, const pickle_arguments& values,
                                       const std::vector<pickle_node>& nodes) {
  using kind = pickle_kind;
  pickle_node out;
  // NumPy 2 renamed its core
  std::string_view known = name;
  const auto skip = [&](std::string_view root) {
    if (known.substr(0, root.size()) == root) known.remove_prefix(root.size());
    return known.size() != name.size();
  };
  const bool of_numpy = skip("numpy._core.") || skip("numpy.core.");
  if (name == "numpy.dtype" && is(values, 0, kind::text)) {
    out.type = kind::element_type;
    out.elements = numpy_dtype(values[0]->text);
    out.text = name;
  } else if (of_numpy && known == "multiarray._reconstruct") {
    out.type = kind::array;
  } else if (of_numpy && known == "multiarray.scalar" && is(values, 0, kind::element_type) &&
             is(values, 1, kind::bytes)) {
    set_array(out, values[0]->elements, {}, values[1]->text, false);
  } else if (of_numpy && known == "numeric._frombuffer" && is(values, 0, kind::bytes) &&
             is(values, 1, kind::element_type) && is(values, 2, kind::tuple)) {
    const bool fortran = is(values, 3, kind::text) && values[3]->text == "F";
    set_array(out, values[1]->elements, numpy_shape(*values[2], nodes), values[0]->text, fortran);
  } else if (name == "_codecs.encode" && is(values, 0, kind::text) && is(values, 1, kind::text) &&
             values[1]->text == "latin1") {
    out.type = kind::bytes;
    out.text = latin1(values[0]->text);
  } else if ((name == "builtins.bytearray" || name == "__builtin__.bytearray" ||
              name == "builtins.bytes" || name == "__builtin__.bytes") &&
             (values.empty() || is(values, 0, kind::bytes))) {
    out.type = kind::bytes;
    if (!values.empty()) out.text = values[0]->text;
  } else if ((name == "builtins.set" || name == "__builtin__.set" || name == "builtins.frozenset" ||
              name == "__builtin__.frozenset") &&
             is(values, 0, kind::list)) {
    out.type = kind::set;
    out.items = values[0]->items;
  } else {
    fail_plain("asks for \"" + name.substr(0, 200) +
               "\": only plain data are read, and nothing "
               "is executed");
  }
  return out;
}

MDSTREAM_INLINE void set_numpy_state(pickle_node& node, const pickle_arguments& state,
                                     const std::vector<pickle_node>& nodes) {
  using kind = pickle_kind;
  if (node.type == kind::element_type && is(state, 1, kind::text)) {
    const std::string& order = state[1]->text;
    if (order != "<" && order != "|" && order != "=")
      fail_plain("holds an array that is not little-endian");
  } else if (node.type == kind::array && node.elements == dtype::none &&
             is(state, 1, kind::tuple) && is(state, 2, kind::element_type) &&
             is(state, 3, kind::boolean) && is(state, 4, kind::bytes)) {
    set_array(node, state[2]->elements, numpy_shape(*state[1], nodes), state[4]->text,
              state[3]->flag);
  } else {
    fail_plain("sets the state of a value that has none");
  }
}

}  // namespace mdstream::inline v0::detail
