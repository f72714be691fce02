#pragma once

/// Numbers as JSON and Python spell them.

#include <cstddef>
#include <string>
#include <string_view>

namespace mdstream::inline v0::json {

/// The number that a text begins with: its length (0: there is none), and whether it is a real
/// rather than an integer.
struct number_scan {
  std::size_t size = 0;
  bool real = false;
};

/// Finds the JSON number that `text` begins with, in Python's form: also NaN, Infinity and
/// -Infinity.
[[nodiscard]] constexpr number_scan scan_number(std::string_view text) noexcept {
  const auto digits = [text](std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    return end;
  };
  if (text.substr(0, 3) == "NaN") return {3, true};
  if (text.substr(0, 8) == "Infinity") return {8, true};
  if (text.substr(0, 9) == "-Infinity") return {9, true};
  std::size_t at = !text.empty() && text[0] == '-' ? 1 : 0;
  const std::size_t whole = digits(at);
  if (whole == at) return {};
  number_scan found{text[at] == '0' ? at + 1 : whole, false};
  at = found.size;
  if (at < text.size() && text[at] == '.' && digits(at + 1) > at + 1)
    found = {digits(at + 1), true};
  at = found.size;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const bool sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-');
    const std::size_t exponent = at + (sign ? 2 : 1);
    if (digits(exponent) > exponent) found = {digits(exponent), true};
  }
  return found;
}

/// The double nearest to a number that `scan_number` accepts whole; infinity beyond the largest.
[[nodiscard]] double to_double(std::string_view text) noexcept;

/// Adds the shortest digits that give the same double back, in the form of Python's repr: `1.0`,
/// `0.0001`, `1e-05`, `1e+16`, `nan`, `inf`.
void append_repr(std::string& out, double value);

/// As `append_repr`, but `NaN`, `Infinity` and `-Infinity` as Python's JSON has them.
void append_number(std::string& out, double value);

}  // namespace mdstream::inline v0::json

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/json/number.ipp>
#endif
