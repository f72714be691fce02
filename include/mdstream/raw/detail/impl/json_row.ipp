#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/format/column_value.hpp>
#include <mdstream/raw/detail/json_row.hpp>
#include <mdstream/version.hpp>

#include <charconv>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::optional<std::int64_t> integer_of(std::string_view text) noexcept {
  std::int64_t out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

MDSTREAM_INLINE void json_array_reader::read(json::reader& in, std::size_t depth) {
  if (depth >= array_shape::max_rank) in.fail("the array has more than 63 dimensions");
  std::uint64_t count = 0;
  in.begin_array();
  while (in.next_item()) {
    ++count;
    if (in.peek() == json::kind::array) {
      if (rank_ != 0 && depth + 1 >= rank_) in.fail("the array's lists are of different depth");
      read(in, depth + 1);
    } else {
      if (rank_ == 0) rank_ = depth + 1;
      if (rank_ != depth + 1) in.fail("the array's lists are of different depth");
      add(in);
    }
  }
  if (count == 0) in.fail("an array without elements cannot be stored");
  while (extents_.size() <= depth) extents_.push_back(0);
  if (extents_[depth] != 0 && extents_[depth] != count)
    in.fail("the array's lists are of different length");
  extents_[depth] = count;
  if (depth > 0) return;
  shape_ = {};
  for (const std::uint64_t extent : extents_) shape_.push_back(extent);
}

MDSTREAM_INLINE void json_array_reader::add(json::reader& in) {
  const std::string_view text = in.number_text();
  const std::size_t at = values_.size();
  values_.resize(at + size_of(type_));
  visit_dtype(type_, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      T value{};
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (failure != std::errc{} || end != text.data() + text.size())
        in.fail(std::string(text) + " does not fit into " +
                std::string(mdstream::to_string(type_)));
      store_to(values_.data() + at, value);
    } else {
      store_to(values_.data() + at, static_cast<T>(json::to_double(text)));
    }
  });
}

/// Sets column `i` to the JSON value that comes next in `row`, which outlives the values. Throws
/// errc::corrupt, naming the byte of the text, where it is none of the column's encoding.
MDSTREAM_INLINE void read_json_value(json::reader& in, std::string_view row, const encoding& type,
                                     std::size_t i, row_values& out) {
  const json::kind found = in.peek();
  const std::size_t begin = in.offset();
  const auto wrong = [&] {
    in.fail_at(begin, std::string(json::to_string(found)) +
                          " does not go into a column of encoding " + mdstream::to_string(type));
  };
  const auto is_own = [&](std::string_view value) {
    return value.data() < row.data() || value.data() >= row.data() + row.size();
  };
  const auto text = [&] {
    const std::string_view value = in.string();
    // the row has been checked; only an escape may stand for half a character
    const std::string_view written = row.substr(begin, in.offset() - begin);
    if (is_own(value) && written.find("\\u") != std::string_view::npos &&
        mdstream::detail::first_invalid_utf8(value) != value.size())
      in.fail("a text is not UTF-8");
    return value;
  };
  if (type.kind == encoding_kind::json) return out.set_value(i, in.skip());
  if (type.kind == encoding_kind::ndarray) {
    if (found != json::kind::array) wrong();
    if (type.type == dtype::none) in.fail("an array in JSON needs a dtype, as ndarray:int32");
    json_array_reader array(type.type);
    array.read(in);
    return out.set_value(i, array.array());
  }
  const bool is_number = scalar_dtype(type.kind) != dtype::none;
  switch (found) {
    case json::kind::string:
      if (type.kind == encoding_kind::str) {
        const std::string_view value = text();
        return is_own(value) ? out.copy(i, as_bytes(value)) : out.set(i, as_bytes(value));
      }
      if (type.kind == encoding_kind::str_decimal) {
        const auto value = parse_decimal(text());
        if (!value) in.fail("the text is not a decimal number");
        return out.set_value(i, *value);
      }
      wrong();
      return;
    case json::kind::boolean:
      if (!is_number || is_floating(scalar_dtype(type.kind))) wrong();
      return out.set_value(i, std::int64_t{in.boolean()});
    case json::kind::integer:
    case json::kind::real: {
      const std::string_view digits = in.number_text();
      const auto whole = found == json::kind::integer ? integer_of(digits) : std::nullopt;
      if (type.kind == encoding_kind::float64) return out.set_number(i, json::to_double(digits));
      if (is_number && is_floating(scalar_dtype(type.kind)))
        return out.set_value(i, json::to_double(digits));
      if (type.kind == encoding_kind::str_float) return out.set_value(i, json::to_double(digits));
      if (type.kind == encoding_kind::str_decimal) {
        if (const auto value = parse_decimal(digits)) return out.set_value(i, *value);
      } else if (found == json::kind::integer) {
        if (type.kind == encoding_kind::str_int)
          return out.set_value(i, json::big_integer{std::string(digits)});
        if (whole && (type.kind == encoding_kind::int_ || type.kind == encoding_kind::int64))
          return out.set_number(i, *whole);
        if (is_number) return out.set_value(i, json::big_integer{std::string(digits)});
      }
      wrong();
      return;
    }
    default: wrong();
  }
}

MDSTREAM_INLINE void set_null_value(std::string_view text, const sample_layout& layout,
                                    std::size_t i, row_values& out) {
  const encoding& type = layout[i].type;
  json::reader in(text);
  try {
    const bool is_bytes = type.kind == encoding_kind::bytes || type.kind == encoding_kind::jpeg ||
                          type.kind == encoding_kind::png;
    if (is_bytes)
      out.copy(i, as_bytes(in.string()));
    else
      read_json_value(in, text, type, i, out);
    in.finish();
  } catch (const error& e) {
    throw error(
        errc::invalid_argument,
        diagnostics{.what = "what stands for null, " + std::string(text) +
                            ", is no value of a column of encoding " + mdstream::to_string(type),
                    .column = layout[i].name,
                    .cause = e.where().what});
  }
}

MDSTREAM_INLINE json_columns::json_columns(const std::vector<column>& columns,
                                           const sample_layout& layout,
                                           const std::optional<std::string>& null_value)
    : layout_(&layout), null_value_(null_value) {
  for (const column& each : columns) {
    node* at = &root_;
    if (each.pointer.empty())
      at = &at->child(each.name);
    else
      for (const std::string& step : steps_of(each)) at = &at->child(step);
    if (at->column)
      throw error(errc::invalid_argument,
                  diagnostics{.what = "two columns take the same value", .column = each.name});
    at->column = layout.at(each.name);
  }
}

MDSTREAM_INLINE void json_columns::read(std::string_view row, row_values& out) {
  out.clear();
  json::reader in(row);
  try {
    current_ = nullptr;
    read(in, root_, row, out);
    in.finish();
  } catch (const error& e) {
    if (current_ == nullptr) throw;
    diagnostics where = e.where();
    where.column = current_->name;
    const bool has_place = e.code() == errc::corrupt && where.byte;
    if (!has_place) where.byte = current_begin_;
    throw error(e.code() == errc::invalid_argument ? errc::corrupt : e.code(), std::move(where));
  }
  for (std::size_t i = 0; i < layout_->size(); ++i)
    if (!out.is_set(i)) set_missing(i, out);
}

MDSTREAM_INLINE json_columns::node& json_columns::node::child(std::string_view key) {
  if (node* found = find(key)) return *found;
  sorted.insert(place_of(key), children.size());
  return children.emplace_back(node{.name = std::string(key)});
}

MDSTREAM_INLINE json_columns::node* json_columns::node::find(std::string_view key) {
  if (children.empty()) return nullptr;
  std::size_t i = next;
  if (children[i].name != key) {
    const auto at = place_of(key);
    if (at == sorted.end() || children[*at].name != key) return nullptr;
    i = *at;
  }
  next = i + 1 < children.size() ? i + 1 : 0;
  return &children[i];
}

MDSTREAM_INLINE std::vector<std::string> json_columns::steps_of(const column& each) {
  std::vector<std::string> out;
  std::string_view rest = each.pointer;
  while (!rest.empty()) {
    if (rest.front() != '/')
      throw error(errc::invalid_argument,
                  diagnostics{.what = "\"" + each.pointer + "\" is not a JSON pointer",
                              .column = each.name});
    const std::size_t end = std::min(rest.find('/', 1), rest.size());
    std::string step;
    for (std::size_t i = 1; i < end; ++i) {
      if (rest[i] == '~' && i + 1 < end && (rest[i + 1] == '0' || rest[i + 1] == '1'))
        step += rest[++i] == '0' ? '~' : '/';
      else
        step += rest[i];
    }
    out.push_back(std::move(step));
    rest.remove_prefix(end);
  }
  return out;
}

MDSTREAM_INLINE void json_columns::read(json::reader& in, node& at, std::string_view row,
                                        row_values& out) {
  at.column ? read_column(in, at, row, out) : read_members(in, at, row, out);
}

MDSTREAM_INLINE void json_columns::read_members(json::reader& in, node& at, std::string_view row,
                                                row_values& out) {
  switch (in.peek()) {
    case json::kind::object:
      in.begin_object();
      while (const auto key = in.next_key()) {
        node* child = at.find(*key);
        if (child != nullptr)
          read(in, *child, row, out);
        else
          in.skip();
      }
      return;
    case json::kind::array:
      if (&at == &root_) in.fail("the row is an array: rows of JSON lines are objects, one a line");
      in.begin_array();
      for (std::size_t i = 0; in.next_item(); ++i) {
        node* child = at.find(std::to_string(i));
        if (child != nullptr)
          read(in, *child, row, out);
        else
          in.skip();
      }
      return;
    default:
      if (&at == &root_) in.fail("the row is not a JSON object");
      in.skip();
  }
}

MDSTREAM_INLINE void json_columns::read_column(json::reader& in, node& at, std::string_view row,
                                               row_values& out) {
  const std::size_t begin = in.offset();
  current_ = &(*layout_)[*at.column];
  current_begin_ = begin;
  if (in.take_null()) {
    if (!null_value_ && current_->type.kind != encoding_kind::json)
      in.fail("the value is null: say what stands for it, or make the column json");
    set_missing(*at.column, out);
  } else {
    read_json_value(in, row, current_->type, *at.column, out);
  }
  current_ = nullptr;
  if (at.children.empty()) return;
  json::reader inner(row.substr(0, in.offset()));
  inner.advance_to(begin);
  read_members(inner, at, row, out);
}

MDSTREAM_INLINE void json_columns::set_missing(std::size_t i, row_values& out) {
  if (null_value_)
    set_null_value(*null_value_, *layout_, i, out);
  else if ((*layout_)[i].type.kind == encoding_kind::json)
    out.set_value(i, std::string_view("null"));
}

MDSTREAM_INLINE void infer_json(std::string_view row, column_inference& out) {
  json::reader in(row);
  if (in.peek() == json::kind::array)
    in.fail("the row is an array: rows of JSON lines are objects, one a line");
  out.add_row();
  in.begin_object();
  while (const auto key = in.next_key()) {
    const std::string name(*key);
    switch (in.peek()) {
      case json::kind::null: out.add(name, column_inference::null); break;
      case json::kind::boolean: out.add(name, column_inference::boolean); break;
      case json::kind::real: out.add(name, column_inference::real); break;
      case json::kind::string: out.add(name, column_inference::text); break;
      case json::kind::array:
      case json::kind::object: out.add(name, column_inference::nested); break;
      case json::kind::integer:
        out.add(name, integer_of(in.number_text()) ? column_inference::integer
                                                   : column_inference::huge_integer);
        continue;
    }
    in.skip();
  }
  in.finish();
}

}  // namespace mdstream::inline v0::raw::detail
