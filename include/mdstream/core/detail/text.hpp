#pragma once

/// The one home of helpers for text: ASCII classes, case and white space, digits, and numbers as
/// Python reads them. No locale enters.

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::detail {

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

[[nodiscard]] std::string to_lower(std::string_view text);

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
[[nodiscard]] std::optional<std::string> plain_number_text(std::string_view text);

/// Python's `float(text)`: spaces around it, a sign, `_` between digits, and `inf`, `infinity` and
/// `nan` in any case. Nothing where Python fails.
[[nodiscard]] std::optional<double> parse_python_float(std::string_view text);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/text.ipp>
#endif
