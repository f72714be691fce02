#pragma once

/// A JSON text as a tree.

#include <mdstream/core/json/reader.hpp>

#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace mdstream::inline v0::json {

class value;

/// The values of a JSON array, in order.
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
///
///     const mds::json::value config = mds::json::parse(R"({"steps": 1000, "lr": 3e-4})");
///     const auto steps = config.get<std::uint64_t>("steps");
///     const double rate = config.get<double>("lr");
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

  [[nodiscard]] double real(std::string_view key) const;

  [[noreturn]] void fail(std::string_view wanted, std::string_view key) const;

  storage data_;
};

inline bool operator==(const value& a, const value& b) { return a.data_ == b.data_; }

/// Parses a whole text. Throws errc::corrupt, with `where` and the byte, if it is not JSON in
/// UTF-8.
///
///     const mds::json::value config = mds::json::parse(text, {.url = "config.json"});
[[nodiscard]] value parse(std::string_view text, const diagnostics& where = {});

}  // namespace mdstream::inline v0::json

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/json/value.ipp>
#endif
