#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/json/number.hpp>
#include <mdstream/version.hpp>

#include <limits>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = to_lower(c);
  return out;
}

MDSTREAM_INLINE std::optional<std::string> plain_number_text(std::string_view text) {
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

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<double> parse_python_float(std::string_view text) {
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

}  // namespace mdstream::inline v0::detail
