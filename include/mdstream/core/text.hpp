#pragma once

/// The one home of helpers for text: ASCII classes, case and white space, digits, and numbers as
/// Python reads them. No locale enters.

#include <mdstream/core/json/number.hpp>

#include <charconv>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0 {

namespace detail {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// The white space of ASCII that Python's `str.strip` takes away.
[[nodiscard]] constexpr bool is_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x1f');
}

[[nodiscard]] constexpr std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

[[nodiscard]] constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

[[nodiscard]] constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  return true;
}

[[nodiscard]] constexpr bool starts_with_ignoring_case(std::string_view text,
                                                       std::string_view start) noexcept {
  return text.size() >= start.size() && equal_ignoring_case(text.substr(0, start.size()), start);
}

/// All of `text` as a number in that base; none for a `-`, blanks, or what does not fit.
template <class T>
[[nodiscard]] std::optional<T> whole_number(std::string_view text, int base = 10) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value, base);
  if (failure != std::errc() || stop != end || text.empty() || text.front() == '-') return {};
  return value;
}

/// `text` without `_` between digits, and without white space around it; nothing where a `_` is
/// elsewhere, or no character is left.
[[nodiscard]] inline std::optional<std::string> plain_number_text(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return std::nullopt;
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

}  // namespace detail

/// Python's `float(text)`: spaces around it, a sign, `_` between digits, and `inf`, `infinity` and
/// `nan` in any case. Nothing where Python fails.
[[nodiscard]] inline std::optional<double> parse_python_float(std::string_view text) {
  const std::optional<std::string> plain = detail::plain_number_text(text);
  if (!plain) return std::nullopt;
  std::string_view rest = *plain;
  const bool negative = rest.front() == '-';
  if (negative || rest.front() == '+') rest.remove_prefix(1);
  const auto signed_value = [negative](double v) { return negative ? -v : v; };
  for (const std::string_view name : {"inf", "infinity"})
    if (detail::equal_ignoring_case(rest, name))
      return signed_value(std::numeric_limits<double>::infinity());
  if (detail::equal_ignoring_case(rest, "nan"))
    return signed_value(std::numeric_limits<double>::quiet_NaN());
  if (rest.empty() || !(detail::is_digit(rest.front()) || rest.front() == '.')) return std::nullopt;
  double value = 0;
  const auto [end, failure] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (end != rest.data() + rest.size()) return std::nullopt;
  if (failure == std::errc::result_out_of_range) return signed_value(json::to_double(rest));
  if (failure != std::errc{}) return std::nullopt;
  return signed_value(value);
}

}  // namespace mdstream::inline v0
