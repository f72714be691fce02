#pragma once

#include <mdstream/core/detail/utf8.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>

namespace mdstream::inline v0::json {

MDSTREAM_INLINE double value::real(std::string_view key) const {
  if (const auto* whole = std::get_if<big_integer>(&data_)) return to_double(whole->digits);
  return get<double>(kind::real, key);
}

MDSTREAM_INLINE void value::fail(std::string_view wanted, std::string_view key) const {
  const std::string name = key.empty() ? "a JSON value" : "\"" + std::string(key) + '"';
  throw error(errc::corrupt,
              name + " is " + std::string(to_string(type())) + ", not " + std::string(wanted));
}

MDSTREAM_INLINE const value* value::find(std::string_view key) const noexcept {
  const object* members = std::get_if<object>(&data_);
  if (members == nullptr) return nullptr;
  for (const member& each : *members)
    if (each.first == key) return &each.second;
  return nullptr;
}

MDSTREAM_INLINE const value& value::at(std::string_view key) const {
  if (type() != kind::object) fail("an object with \"" + std::string(key) + '"', {});
  if (const value* found = find(key)) return *found;
  throw error(errc::corrupt, "\"" + std::string(key) + "\" is missing");
}

}  // namespace mdstream::inline v0::json

namespace mdstream::inline v0::json::detail {

/// Of equal keys the last value counts, at the place of the first.
MDSTREAM_INLINE void drop_duplicates(object& members) {
  std::vector<std::size_t> order(members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(members[a].first, a) < std::tie(members[b].first, b);
  });
  std::vector<bool> dropped(members.size(), false);
  std::size_t first = 0;
  bool any = false;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i]].first != members[order[first]].first) {
      first = i;
      continue;
    }
    members[order[first]].second = std::move(members[order[i]].second);
    dropped[order[i]] = any = true;
  }
  if (!any) return;
  object kept;
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(members[i]));
  members = std::move(kept);
}

MDSTREAM_INLINE value read_value(reader& in) {
  switch (in.peek()) {
    case kind::null:
      if (!in.take_null()) in.fail("a value is expected");
      return {};
    case kind::boolean: return in.boolean();
    case kind::integer: return big_integer{std::string(in.number_text())};
    case kind::real: return in.number();
    case kind::string: return in.string();
    case kind::array: {
      array items;
      in.begin_array();
      while (in.next_item()) items.push_back(read_value(in));
      return items;
    }
    case kind::object: break;
  }
  object members;
  in.begin_object();
  while (const auto key = in.next_key()) {
    std::string name(*key);
    members.emplace_back(std::move(name), read_value(in));
  }
  if (members.size() > 1) drop_duplicates(members);
  return members;
}

}  // namespace mdstream::inline v0::json::detail

namespace mdstream::inline v0::json {

MDSTREAM_INLINE value parse(std::string_view text, const diagnostics& where) {
  reader in(text, where);
  if (const std::size_t bad = mdstream::detail::first_invalid_utf8(text); bad != text.size())
    in.fail_at(bad, "the JSON text is not UTF-8");
  value out = detail::read_value(in);
  in.finish();
  return out;
}

}  // namespace mdstream::inline v0::json
