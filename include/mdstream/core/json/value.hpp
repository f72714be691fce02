#pragma once

/// A JSON text as a tree.

#include <mdstream/core/json/reader.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0::json {

class value;

using array = std::vector<value>;
/// A key and its value.
using member = std::pair<std::string, value>;
/// In the order of the text, or in which keys were added.
using object = std::vector<member>;

/// An integer of any size, as decimal digits with an optional minus.
struct big_integer {
  std::string digits{};

  /// The value as `T`, or nothing if it does not fit.
  template <std::integral T>
  [[nodiscard]] std::optional<T> as() const noexcept {
    T out{};
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (result.ec != std::errc{} || result.ptr != digits.data() + digits.size())
      return std::nullopt;
    return out;
  }

  friend bool operator==(const big_integer&, const big_integer&) = default;
};

/// A JSON value. Getters throw errc::corrupt, naming key and kinds, where the value is another one
/// than asked for.
class value {
 public:
  value() = default;
  value(std::nullptr_t) {}
  value(bool v) : data_(v) {}
  value(double v) : data_(v) {}
  template <std::integral T>
    requires(!std::same_as<T, bool> && !std::same_as<T, char>)
  value(T v) : data_(big_integer{std::to_string(v)}) {}
  value(big_integer v) : data_(std::move(v)) {}
  value(std::string v) : data_(std::move(v)) {}
  value(std::string_view v) : data_(std::string(v)) {}
  value(const char* v) : data_(std::string(v)) {}
  value(array v) : data_(std::move(v)) {}
  value(object v) : data_(std::move(v)) {}

  [[nodiscard]] kind type() const noexcept { return static_cast<kind>(data_.index()); }
  [[nodiscard]] bool is_null() const noexcept { return type() == kind::null; }

  /// The member of that key, or null if there is none or this is no object. O(members).
  [[nodiscard]] const value* find(std::string_view key) const noexcept;
  /// As `find`; a key that is not there is an error.
  [[nodiscard]] const value& at(std::string_view key) const;

  /// The value as `T`: bool, an integer type that it fits into, double (of any number),
  /// std::string, array, object. `key` is for the message.
  template <class T>
  [[nodiscard]] decltype(auto) as(std::string_view key = {}) const {
    if constexpr (std::same_as<T, bool>) {
      return bool{get<bool>(kind::boolean, key)};
    } else if constexpr (std::integral<T>) {
      return integer<T>(key);
    } else if constexpr (std::same_as<T, double>) {
      return real(key);
    } else if constexpr (std::same_as<T, std::string>) {
      return get<std::string>(kind::string, key);
    } else if constexpr (std::same_as<T, array>) {
      return get<array>(kind::array, key);
    } else {
      static_assert(std::same_as<T, object>, "JSON has no such type");
      return get<object>(kind::object, key);
    }
  }

  /// The member of that key as `T`.
  template <class T>
  [[nodiscard]] decltype(auto) get(std::string_view key) const {
    return at(key).as<T>(key);
  }

  /// The digits of an integer of any size.
  [[nodiscard]] const std::string& digits(std::string_view key = {}) const {
    return get<big_integer>(kind::integer, key).digits;
  }

  friend bool operator==(const value& a, const value& b);

 private:
  using storage =
      std::variant<std::monostate, bool, big_integer, double, std::string, array, object>;

  template <class T>
  [[nodiscard]] const T& get(kind wanted, std::string_view key) const {
    if (const T* found = std::get_if<T>(&data_)) return *found;
    fail(to_string(wanted), key);
  }

  template <std::integral T>
  [[nodiscard]] T integer(std::string_view key) const {
    const auto value_as = get<big_integer>(kind::integer, key).template as<T>();
    if (!value_as) fail("an integer of " + std::to_string(8 * sizeof(T)) + " bits", key);
    return *value_as;
  }

  [[nodiscard]] double real(std::string_view key) const {
    if (const auto* whole = std::get_if<big_integer>(&data_)) return to_double(whole->digits);
    return get<double>(kind::real, key);
  }

  [[noreturn]] void fail(std::string_view wanted, std::string_view key) const {
    const std::string name = key.empty() ? "a JSON value" : "\"" + std::string(key) + '"';
    throw error(errc::corrupt,
                name + " is " + std::string(to_string(type())) + ", not " + std::string(wanted));
  }

  storage data_;
};

inline bool operator==(const value& a, const value& b) { return a.data_ == b.data_; }

inline const value* value::find(std::string_view key) const noexcept {
  const object* members = std::get_if<object>(&data_);
  if (members == nullptr) return nullptr;
  for (const member& each : *members)
    if (each.first == key) return &each.second;
  return nullptr;
}

inline const value& value::at(std::string_view key) const {
  if (type() != kind::object) fail("an object with \"" + std::string(key) + '"', {});
  if (const value* found = find(key)) return *found;
  throw error(errc::corrupt, "\"" + std::string(key) + "\" is missing");
}

namespace detail {

/// Of equal keys the last value counts, at the place of the first.
inline void drop_duplicates(object& members) {
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

[[nodiscard]] inline value read_value(reader& in) {
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

}  // namespace detail

/// Parses a whole text. Throws errc::corrupt, with `where` and the byte, if it is not JSON in
/// UTF-8.
[[nodiscard]] inline value parse(std::string_view text, const diagnostics& where = {}) {
  reader in(text, where);
  if (const std::size_t bad = first_invalid_utf8(text); bad != text.size())
    in.fail_at(bad, "the JSON text is not UTF-8");
  value out = detail::read_value(in);
  in.finish();
  return out;
}

}  // namespace mdstream::inline v0::json
