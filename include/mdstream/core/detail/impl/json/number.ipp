#pragma once

#include <mdstream/core/json/number.hpp>
#include <mdstream/version.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace mdstream::inline v0::json::detail {

/// Whether a decimal number beyond the range of double is too large rather than too small: the
/// exponent of its first digit that is not 0.
MDSTREAM_INLINE bool overflows(std::string_view text) noexcept {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  const std::size_t point = mantissa.find('.');
  const std::size_t whole = point == std::string_view::npos ? mantissa.size() : point;
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  if (e != std::string_view::npos) {
    const std::string_view exponent = text.substr(e + 1);
    long long value = 0;
    const bool plus = exponent.front() == '+';
    const auto result =
        std::from_chars(exponent.data() + (plus ? 1 : 0), exponent.data() + exponent.size(), value);
    if (result.ec != std::errc{}) return exponent.front() != '-';
    return value + static_cast<long long>(whole) - static_cast<long long>(first) > 0;
  }
  return first < whole;
}

}  // namespace mdstream::inline v0::json::detail

namespace mdstream::inline v0::json {

MDSTREAM_INLINE double to_double(std::string_view text) noexcept {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    value = detail::overflows(text) ? std::numeric_limits<double>::infinity() : 0.0;
    if (text.front() == '-') value = -value;
  }
  return value;
}

MDSTREAM_INLINE void append_repr(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "nan";
    return;
  }
  if (std::signbit(value)) out += '-';
  if (std::isinf(value)) {
    out += "inf";
    return;
  }
  char text[32];
  const auto result =
      std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::scientific);
  const std::string_view whole(text, static_cast<std::size_t>(result.ptr - text));
  const std::size_t e = whole.find('e');
  std::string digits(1, whole[0]);
  if (e > 2) digits.append(whole, 2, e - 2);
  int exponent = 0;
  const bool plus = whole[e + 1] == '+';
  std::from_chars(whole.data() + e + (plus ? 2 : 1), whole.data() + whole.size(), exponent);
  const auto count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out.append(".").append(digits, 1);
    out += exponent < 0 ? "e-" : "e+";
    const int magnitude = exponent < 0 ? -exponent : exponent;
    if (magnitude < 10) out += '0';
    out += std::to_string(magnitude);
  } else if (exponent < 0) {
    out.append("0.").append(static_cast<std::size_t>(-exponent - 1), '0').append(digits);
  } else if (count <= exponent + 1) {
    out.append(digits).append(static_cast<std::size_t>(exponent + 1 - count), '0').append(".0");
  } else {
    const auto whole_digits = static_cast<std::size_t>(exponent + 1);
    out.append(digits, 0, whole_digits).append(".").append(digits, whole_digits);
  }
}

MDSTREAM_INLINE void append_number(std::string& out, double value) {
  if (std::isnan(value))
    out += "NaN";
  else if (std::isinf(value))
    out += value < 0 ? "-Infinity" : "Infinity";
  else
    append_repr(out, value);
}

}  // namespace mdstream::inline v0::json
