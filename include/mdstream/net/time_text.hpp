#pragma once

/// Points in time as HTTP and its signatures write them, always UTC and to the second.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

using wall_clock = std::chrono::system_clock;

namespace detail {

inline constexpr std::array<std::string_view, 7> weekday_names{"Sun", "Mon", "Tue", "Wed",
                                                               "Thu", "Fri", "Sat"};
inline constexpr std::array<std::string_view, 12> month_names{
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

/// The number that the digits at `text[at, at + count)` are; -1 where they are none.
[[nodiscard]] constexpr int digits_at(std::string_view text, std::size_t at,
                                      std::size_t count) noexcept {
  if (at > text.size() || text.size() - at < count) return -1;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

struct civil_time {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
};

/// That many seconds after 1970. What a server or a file may call never is as far as the clock's
/// nanoseconds reach: what is before 1970 or after 2249. The nanoseconds between any two of these
/// points fit into 64 bits, too.
[[nodiscard]] wall_clock::time_point time_of_seconds(std::int64_t since_1970) noexcept;

/// `at` less `by`, bounded as all points in time that others tell.
[[nodiscard]] wall_clock::time_point earlier(wall_clock::time_point at,
                                             std::chrono::seconds by) noexcept;

/// The point in time, bounded as `time_of_seconds` has it; nothing where there is no such one.
[[nodiscard]] std::optional<wall_clock::time_point> time_of(const civil_time& t);

}  // namespace detail

/// `20130524T000000Z`, as AWS's signatures have it.
[[nodiscard]] std::string basic_timestamp(wall_clock::time_point at);

/// `2013-05-24T00:00:00Z`, RFC 3339.
[[nodiscard]] std::string iso_timestamp(wall_clock::time_point at);

/// `Fri, 24 May 2013 00:00:00 GMT`, RFC 9110 section 5.6.7.
[[nodiscard]] std::string http_date(wall_clock::time_point at);

/// Reads what `http_date` writes; nothing for anything else.
[[nodiscard]] std::optional<wall_clock::time_point> parse_http_date(std::string_view text);

/// Reads ISO 8601, `2013-05-24T00:00:00Z`, also with a fraction of a second, which is dropped, and
/// with a zone, `+02:00`; nothing for anything else.
[[nodiscard]] std::optional<wall_clock::time_point> parse_iso_time(std::string_view text);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/time_text.ipp>
#endif
