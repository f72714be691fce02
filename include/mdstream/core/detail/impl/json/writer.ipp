#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/json/writer.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <vector>

namespace mdstream::inline v0::json::detail {

MDSTREAM_INLINE void append_escape(std::string& out, char32_t unit) {
  constexpr char digits[] = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += digits[(unit >> shift) & 15];
}

}  // namespace mdstream::inline v0::json::detail

namespace mdstream::inline v0::json {

MDSTREAM_INLINE void append_string(std::string& out, std::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_plain(text[at])) ++at;
    out += text.substr(begin, at - begin);
    if (at == text.size()) break;
    const mdstream::detail::code_point next = mdstream::detail::decode_utf8(text.substr(at), true);
    if (next.bytes == 0)
      throw error(errc::invalid_argument, diagnostics{.what = "a text is not UTF-8", .byte = at});
    at += next.bytes;
    const char32_t c = next.value;
    switch (c) {
      case U'"': out += "\\\""; break;
      case U'\\': out += "\\\\"; break;
      case U'\n': out += "\\n"; break;
      case U'\r': out += "\\r"; break;
      case U'\t': out += "\\t"; break;
      case U'\f': out += "\\f"; break;
      case U'\b': out += "\\b"; break;
      default:
        if (c > 0xFFFF) {
          detail::append_escape(out, 0xD800 + ((c - 0x10000) >> 10));
          detail::append_escape(out, 0xDC00 + ((c - 0x10000) & 0x3FF));
        } else {
          detail::append_escape(out, c);
        }
    }
  }
  out += '"';
}

}  // namespace mdstream::inline v0::json

namespace mdstream::inline v0::json::detail {

MDSTREAM_INLINE void append_array(std::string& out, const array& items, key_order order) {
  out += '[';
  bool first = true;
  for (const value& item : items) {
    if (!first) out += ", ";
    first = false;
    append_value(out, item, order);
  }
  out += ']';
}

MDSTREAM_INLINE void append_object(std::string& out, const object& members, key_order order) {
  std::vector<const member*> list;
  list.reserve(members.size());
  for (const member& each : members) list.push_back(&each);
  if (order == key_order::sorted)
    std::sort(list.begin(), list.end(),
              [](const member* a, const member* b) { return a->first < b->first; });
  out += '{';
  bool first = true;
  for (const member* each : list) {
    if (!first) out += ", ";
    first = false;
    append_string(out, each->first);
    out += ": ";
    append_value(out, each->second, order);
  }
  out += '}';
}

}  // namespace mdstream::inline v0::json::detail

namespace mdstream::inline v0::json {

MDSTREAM_INLINE void append_value(std::string& out, const value& v, key_order order) {
  switch (v.type()) {
    case kind::null: out += "null"; break;
    case kind::boolean: out += v.as<bool>() ? "true" : "false"; break;
    case kind::integer: out += v.digits(); break;
    case kind::real: append_number(out, v.as<double>()); break;
    case kind::string: append_string(out, v.as<std::string>()); break;
    case kind::array: detail::append_array(out, v.as<array>(), order); break;
    case kind::object: detail::append_object(out, v.as<object>(), order); break;
  }
}

MDSTREAM_INLINE std::string dump(const value& v, key_order order) {
  std::string out;
  append_value(out, v, order);
  return out;
}

}  // namespace mdstream::inline v0::json
