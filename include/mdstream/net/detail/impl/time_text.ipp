#pragma once

#include <mdstream/net/time_text.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE void append_digits(std::string& out, long value, std::size_t count) {
  std::string digits = std::to_string(value);
  out.append(count - std::min(count, digits.size()), '0');
  out += digits;
}

MDSTREAM_INLINE civil_time civil(wall_clock::time_point at) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss time(seconds - days);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(time.hours().count()),
          static_cast<int>(time.minutes().count()),
          static_cast<int>(time.seconds().count())};
}

MDSTREAM_INLINE wall_clock::time_point time_of_seconds(std::int64_t since_1970) noexcept {
  constexpr std::chrono::seconds latest =
      std::chrono::sys_days(std::chrono::year(2250) / 1 / 1).time_since_epoch();
  return wall_clock::time_point(
      std::clamp(std::chrono::seconds(since_1970), std::chrono::seconds(0), latest));
}

MDSTREAM_INLINE wall_clock::time_point earlier(wall_clock::time_point at,
                                               std::chrono::seconds by) noexcept {
  const auto since = std::chrono::floor<std::chrono::seconds>(at.time_since_epoch());
  return time_of_seconds((since - by).count());
}

MDSTREAM_INLINE std::optional<wall_clock::time_point> time_of(const civil_time& t) {
  const std::chrono::year_month_day date{std::chrono::year(t.year),
                                         std::chrono::month(static_cast<unsigned>(t.month)),
                                         std::chrono::day(static_cast<unsigned>(t.day))};
  if (t.year < 0 || t.month < 0 || t.day < 0 || !date.ok() || t.hour < 0 || t.hour > 23 ||
      t.minute < 0 || t.minute > 59 || t.second < 0 || t.second > 60) {
    return std::nullopt;
  }
  const std::chrono::seconds at = std::chrono::sys_days(date).time_since_epoch() +
                                  std::chrono::hours(t.hour) + std::chrono::minutes(t.minute) +
                                  std::chrono::seconds(t.second);
  return time_of_seconds(at.count());
}

/// How far a zone (`Z`, `+02:00`, `-0700`) is ahead of UTC.
MDSTREAM_INLINE std::optional<std::chrono::seconds> zone_offset(std::string_view zone) {
  if (zone == "Z" || zone == "UTC") return std::chrono::seconds(0);
  const std::size_t colon = zone.size() == 6 && zone[3] == ':' ? 1 : 0;
  if (zone.size() != 5 + colon || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  const int hours = digits_at(zone, 1, 2), minutes = digits_at(zone, 3 + colon, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::chrono::seconds offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return zone[0] == '-' ? -offset : offset;
}

}  // namespace mdstream::inline v0::net::detail

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string basic_timestamp(wall_clock::time_point at) {
  const detail::civil_time t = detail::civil(at);
  std::string out;
  detail::append_digits(out, t.year, 4);
  detail::append_digits(out, t.month, 2);
  detail::append_digits(out, t.day, 2);
  out += 'T';
  detail::append_digits(out, t.hour, 2);
  detail::append_digits(out, t.minute, 2);
  detail::append_digits(out, t.second, 2);
  out += 'Z';
  return out;
}

MDSTREAM_INLINE std::string iso_timestamp(wall_clock::time_point at) {
  std::string out = basic_timestamp(at);
  for (const std::size_t place : {13U, 11U}) out.insert(place, ":");
  for (const std::size_t place : {6U, 4U}) out.insert(place, "-");
  return out;
}

MDSTREAM_INLINE std::string http_date(wall_clock::time_point at) {
  const detail::civil_time t = detail::civil(at);
  const std::chrono::weekday day(std::chrono::floor<std::chrono::days>(at));
  std::string out(detail::weekday_names[day.c_encoding()]);
  out += ", ";
  detail::append_digits(out, t.day, 2);
  out += ' ';
  out += detail::month_names[static_cast<std::size_t>(t.month - 1)];
  out += ' ';
  detail::append_digits(out, t.year, 4);
  out += ' ';
  detail::append_digits(out, t.hour, 2);
  out += ':';
  detail::append_digits(out, t.minute, 2);
  out += ':';
  detail::append_digits(out, t.second, 2);
  return out + " GMT";
}

MDSTREAM_INLINE std::optional<wall_clock::time_point> parse_http_date(std::string_view text) {
  using detail::digits_at;
  if (text.size() != 29 || text.substr(25) != " GMT") return std::nullopt;
  detail::civil_time t{detail::digits_at(text, 12, 4), -1,
                       detail::digits_at(text, 5, 2),  detail::digits_at(text, 17, 2),
                       detail::digits_at(text, 20, 2), detail::digits_at(text, 23, 2)};
  for (std::size_t i = 0; i < detail::month_names.size(); ++i) {
    if (text.substr(8, 3) == detail::month_names[i]) t.month = static_cast<int>(i) + 1;
  }
  return detail::time_of(t);
}

MDSTREAM_INLINE std::optional<wall_clock::time_point> parse_iso_time(std::string_view text) {
  using detail::digits_at;
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[10] != 'T' || text[13] != ':' ||
      text[16] != ':') {
    return std::nullopt;
  }
  std::size_t at = 19;
  if (text[at] == '.') {
    do ++at;
    while (detail::digits_at(text, at, 1) >= 0);
  }
  const auto ahead = detail::zone_offset(text.substr(at));
  const auto there =
      detail::time_of({detail::digits_at(text, 0, 4), detail::digits_at(text, 5, 2),
                       detail::digits_at(text, 8, 2), detail::digits_at(text, 11, 2),
                       detail::digits_at(text, 14, 2), detail::digits_at(text, 17, 2)});
  if (!ahead || !there) return std::nullopt;
  return detail::earlier(*there, *ahead);
}

}  // namespace mdstream::inline v0::net
