#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/sizes.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<int128> scaled(std::string_view prefix, double factor) {
  const std::optional<double> number = parse_python_float(prefix);
  if (!number) return std::nullopt;
  const double value = *number * factor;
  constexpr double limit = 1.7e38;
  if (!(value <= limit && value >= -limit)) return std::nullopt;
  return static_cast<int128>(value);
}

MDSTREAM_INLINE std::optional<int128> parse_digits(std::string_view text) {
  if (text.empty() || text.size() > 38 || !std::all_of(text.begin(), text.end(), is_digit))
    return std::nullopt;
  int128 value = 0;
  for (const char c : text) value = value * 10 + (c - '0');
  return value;
}

MDSTREAM_INLINE std::optional<int128> parse_bytes(std::string_view text) {
  constexpr double k = 1024.0;
  static constexpr std::array<size_unit, 8> units{{{"kb", k},
                                                   {"mb", k * k},
                                                   {"gb", k * k * k},
                                                   {"tb", k * k * k * k},
                                                   {"pb", k * k * k * k * k},
                                                   {"eb", k * k * k * k * k * k},
                                                   {"zb", k * k * k * k * k * k * k},
                                                   {"yb", k * k * k * k * k * k * k * k}}};
  const std::string lower = to_lower(trimmed(text));
  if (const auto value = parse_with_unit(lower, units)) return value;
  const std::string_view digits = lower;
  return digits.ends_with('b') ? parse_digits(digits.substr(0, digits.size() - 1)) : std::nullopt;
}

MDSTREAM_INLINE std::optional<int128> parse_count(std::string_view text) {
  static constexpr std::array<size_unit, 4> units{
      {{"k", 1e3}, {"m", 1e6}, {"b", 1e9}, {"t", 1e12}}};
  return parse_with_unit(to_lower(trimmed(text)), units);
}

MDSTREAM_INLINE std::uint64_t in_range(std::optional<int128> value, std::string_view text,
                                       const char* what) {
  if (!value || *value < 0 || *value > std::numeric_limits<std::int64_t>::max())
    throw error(errc::invalid_argument, '"' + std::string(text) + "\" is not " + what);
  return static_cast<std::uint64_t>(*value);
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0 {

MDSTREAM_INLINE byte_size::byte_size(std::string_view text)
    : value(detail::in_range(detail::parse_bytes(text), text,
                             "a size in bytes, as 100gb, 64MB or 1024")) {}

MDSTREAM_INLINE sample_count::sample_count(std::string_view text)
    : value(detail::in_range(detail::parse_count(text), text,
                             "a number of samples, as 100k, 1.5b or 1024")) {}

}  // namespace mdstream::inline v0
