#pragma once

/// Numbers that are stored as text: Python's int and Decimal, read as tolerantly and written as
/// exactly as Python does; `core/text.hpp` has its float.

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

namespace detail {

[[nodiscard]] constexpr std::size_t count_digits(std::string_view text, std::size_t from) noexcept {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

}  // namespace detail

/// Python's `int(text)`, of any size: spaces around it, a sign, `_` between digits. Nothing where
/// Python fails. The result has no leading zeros, and no minus if it is 0.
[[nodiscard]] inline std::optional<json::big_integer> parse_python_int(std::string_view text) {
  const std::optional<std::string> plain = detail::plain_number_text(text);
  if (!plain) return std::nullopt;
  std::string_view digits = *plain;
  const bool negative = digits.front() == '-';
  if (negative || digits.front() == '+') digits.remove_prefix(1);
  if (digits.empty() || detail::count_digits(digits, 0) != digits.size()) return std::nullopt;
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  json::big_integer out;
  if (negative && digits != "0") out.digits += '-';
  out.digits += digits;
  return out;
}

/// A number of Python's decimal.Decimal: its digits and exponent count, 1.0 and 1.00 are two.
struct decimal {
  bool negative = false;
  std::string digits{};        ///< of the coefficient, without leading zeros; "0" for zero
  std::int64_t exponent = 0;   ///< the value is digits * 10^exponent
  std::string_view special{};  ///< "Infinity", "NaN" or "sNaN"; then digits are a NaN's payload

  friend bool operator==(const decimal&, const decimal&) = default;
};

/// Python's `Decimal(text)`; nothing where Python fails.
[[nodiscard]] inline std::optional<decimal> parse_decimal(std::string_view text) {
  using detail::count_digits;
  // Decimal takes `_` anywhere between other characters; it does not come from Decimal's own text.
  const std::optional<std::string> plain = detail::plain_number_text(text);
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  decimal out;
  out.negative = rest.front() == '-';
  if (out.negative || rest.front() == '+') rest.remove_prefix(1);
  for (const std::string_view name : {"inf", "infinity"})
    if (detail::equal_ignoring_case(rest, name)) {
      out.special = "Infinity";
      return out;
    }
  for (const std::string_view name : {"snan", "nan"}) {
    if (!detail::equal_ignoring_case(rest.substr(0, name.size()), name)) continue;
    rest.remove_prefix(name.size());
    if (detail::count_digits(rest, 0) != rest.size()) return std::nullopt;
    out.special = name == "nan" ? "NaN" : "sNaN";
    while (!rest.empty() && rest.front() == '0') rest.remove_prefix(1);
    out.digits = rest;
    return out;
  }
  const std::size_t whole = detail::count_digits(rest, 0);
  out.digits = rest.substr(0, whole);
  rest.remove_prefix(whole);
  if (!rest.empty() && rest.front() == '.') {
    const std::size_t fraction = detail::count_digits(rest, 1);
    out.digits.append(rest, 1, fraction);
    out.exponent = -static_cast<std::int64_t>(fraction);
    rest.remove_prefix(1 + fraction);
  }
  if (out.digits.empty()) return std::nullopt;
  if (!rest.empty()) {
    if (rest.front() != 'e' && rest.front() != 'E') return std::nullopt;
    rest.remove_prefix(rest.size() > 1 && rest[1] == '+' ? 2 : 1);
    std::int64_t exponent = 0;
    const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
    constexpr std::int64_t most = 999'999'999'999'999'999;  // of Python's decimal
    if (failure != std::errc{} || end != rest.data() + rest.size() || exponent > most ||
        exponent < -2 * most)
      return std::nullopt;
    out.exponent += exponent;
  }
  const std::size_t first = out.digits.find_first_not_of('0');
  out.digits.erase(0, first == std::string::npos ? out.digits.size() - 1 : first);
  return out;
}

/// Python's `str(Decimal)`: positional if the exponent is at most 0 and the number is at least
/// 1E-6, else scientific.
[[nodiscard]] inline std::string to_string(const decimal& value) {
  std::string out(value.negative ? "-" : "");
  if (!value.special.empty()) return out.append(value.special).append(value.digits);
  const auto count = static_cast<std::int64_t>(value.digits.size());
  const std::int64_t adjusted = value.exponent + count - 1;
  if (value.exponent > 0 || adjusted < -6) {
    out += value.digits[0];
    if (count > 1) out.append(".").append(value.digits, 1);
    return out.append(adjusted < 0 ? "E" : "E+").append(std::to_string(adjusted));
  }
  const std::int64_t whole = count + value.exponent;  // digits before the point
  if (value.exponent == 0) return out + value.digits;
  if (whole <= 0)
    return out.append("0.").append(static_cast<std::size_t>(-whole), '0').append(value.digits);
  const auto split = static_cast<std::size_t>(whole);
  return out.append(value.digits, 0, split).append(".").append(value.digits, split);
}

}  // namespace mdstream::inline v0
