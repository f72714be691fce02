#pragma once

/// Sizes in bytes and numbers of samples, as literals (`200_GiB`) and as the texts that
/// configuration files hold ("100gb", "64M").

#include <mdstream/core/error.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0 {
namespace detail {

__extension__ using int128 = __int128;

struct size_unit {
  std::string_view suffix;
  double factor;
};

/// `int(float(prefix) * factor)`; nothing beyond 128 bits and for what is not a number.
[[nodiscard]] std::optional<int128> scaled(std::string_view prefix, double factor);

[[nodiscard]] std::optional<int128> parse_digits(std::string_view text);

/// A number with one of the suffixes, else plain digits.
template <std::size_t N>
[[nodiscard]] std::optional<int128> parse_with_unit(std::string_view text,
                                                    const std::array<size_unit, N>& units) {
  for (const size_unit& unit : units)
    if (text.ends_with(unit.suffix))
      return scaled(text.substr(0, text.size() - unit.suffix.size()), unit.factor);
  return parse_digits(text);
}

/// "64mb" → 67108864: binary multiples kb to yb, in any case, or digits with or without "b".
[[nodiscard]] std::optional<int128> parse_bytes(std::string_view text);

/// "100k" → 100000: decimal multiples k, m, b (10^9) and t, in any case, or digits.
[[nodiscard]] std::optional<int128> parse_count(std::string_view text);

[[nodiscard]] std::uint64_t in_range(std::optional<int128> value, std::string_view text,
                                     const char* what);

/// Beyond 2^63 it is what a negative number has become.
template <std::integral T>
[[nodiscard]] constexpr std::uint64_t not_negative(T value) {
  if (value < T{0} || std::cmp_greater(value, std::numeric_limits<std::int64_t>::max()))
    throw error(errc::invalid_argument,
                "a size of " + std::to_string(static_cast<std::int64_t>(value)) + " is negative");
  return static_cast<std::uint64_t>(value);
}

}  // namespace detail

/// A number of bytes: from a number, or from a text as "1.5gb" (1 kb = 1024), which throws
/// `errc::invalid_argument` where it is none or negative.
///
///     const mds::byte_size limit = 200_GiB;  // using namespace mds::literals, or "200gb"
struct byte_size {
  std::uint64_t value = 0;

  byte_size() = default;
  template <std::integral T>
  constexpr byte_size(T bytes) : value(detail::not_negative(bytes)) {}
  byte_size(std::string_view text);
  byte_size(const char* text) : byte_size(std::string_view(text)) {}

  friend constexpr auto operator<=>(const byte_size&, const byte_size&) = default;
};

/// A number of samples: from a number, or from a text as "100k" (1 k = 1000, 1 b = 10^9), which
/// throws `errc::invalid_argument` where it is none or negative.
///
///     const mds::sample_count epoch_size = "100k";  // 100,000
struct sample_count {
  std::uint64_t value = 0;

  sample_count() = default;
  template <std::integral T>
  constexpr sample_count(T samples) : value(detail::not_negative(samples)) {}
  sample_count(std::string_view text);
  sample_count(const char* text) : sample_count(std::string_view(text)) {}

  friend constexpr auto operator<=>(const sample_count&, const sample_count&) = default;
};

inline namespace literals {

// Not consteval: clang 16 refuses stores that are made in default initializers then.
constexpr byte_size operator""_KiB(unsigned long long n) { return std::uint64_t{n} * 1024; }
constexpr byte_size operator""_MiB(unsigned long long n) { return std::uint64_t{n} * 1024 * 1024; }
constexpr byte_size operator""_GiB(unsigned long long n) {
  return std::uint64_t{n} * 1024 * 1024 * 1024;
}
constexpr byte_size operator""_TiB(unsigned long long n) {
  return std::uint64_t{n} * 1024 * 1024 * 1024 * 1024;
}

}  // namespace literals
}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/sizes.ipp>
#endif
