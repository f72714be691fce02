#pragma once

#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/quote.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstring>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::optional<std::string_view> http_headers::find(
    std::string_view name) const noexcept {
  for (const http_header& each : all_) {
    if (detail::equal_ignoring_case(each.name, name)) return each.value;
  }
  return std::nullopt;
}

MDSTREAM_INLINE bool http_headers::add_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view name = line.substr(0, colon);
  if (!std::ranges::all_of(name, is_token)) return false;
  std::string_view value = line.substr(colon + 1);
  if (value.find_first_of(std::string_view("\0\r\n", 3)) != std::string_view::npos) return false;
  const std::size_t first = value.find_first_not_of(" \t");
  value = first == std::string_view::npos ? std::string_view() : value.substr(first);
  value = value.substr(0, value.find_last_not_of(" \t") + 1);
  all_.push_back({std::string(name), std::string(value)});
  return true;
}

MDSTREAM_INLINE bool http_headers::is_token(char c) noexcept {
  const char l = v0::detail::to_lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

MDSTREAM_INLINE std::string wrong_length(const http_headers& of) {
  std::optional<std::int64_t> known;
  for (const http_header& each : of) {
    if (!detail::equal_ignoring_case(each.name, "Content-Length")) continue;
    const auto bytes = detail::whole_number<std::int64_t>(each.value);
    if (!bytes || *bytes < 0)
      return "the answer states a length that no body has: " + quotable(each.value, {});
    if (known && known != bytes)
      return "the answer states two lengths, " + std::to_string(*known) + " and " +
             std::to_string(*bytes);
    known = bytes;
  }
  return {};
}

MDSTREAM_INLINE std::optional<content_range> content_range::parse(std::string_view value) noexcept {
  if (!detail::starts_with_ignoring_case(value, "bytes ")) return std::nullopt;
  value.remove_prefix(6);
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view range = value.substr(0, slash), total = value.substr(slash + 1);
  content_range out;
  if (total != "*") {
    out.total = detail::whole_number<std::uint64_t>(total);
    if (!out.total) return std::nullopt;
  }
  if (range == "*") return out.total ? std::optional(out) : std::nullopt;
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = detail::whole_number<std::uint64_t>(range.substr(0, dash));
  const auto last = detail::whole_number<std::uint64_t>(range.substr(dash + 1));
  if (!first || !last || *first > *last || (out.total && *last >= *out.total)) return {};
  out.satisfied = true;
  out.first = *first;
  out.last = *last;
  return out;
}

MDSTREAM_INLINE std::optional<std::chrono::seconds> parse_retry_after(std::string_view value,
                                                                      wall_clock::time_point now) {
  const auto bounded = [](std::int64_t seconds) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, 86'400));
  };
  if (const auto seconds = detail::whole_number<std::uint32_t>(value)) return bounded(*seconds);
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return bounded(std::chrono::ceil<std::chrono::seconds>(*date - now).count());
}

MDSTREAM_INLINE std::optional<std::chrono::seconds> parse_rate_limit(std::string_view value) {
  std::optional<std::uint32_t> left, seconds;
  value = value.substr(0, value.find(','));  // the first policy
  while (!value.empty()) {
    const std::size_t end = value.find(';');
    std::string_view part = value.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (part.starts_with("r=")) left = detail::whole_number<std::uint32_t>(part.substr(2));
    if (part.starts_with("t=")) seconds = detail::whole_number<std::uint32_t>(part.substr(2));
    if (end == std::string_view::npos) break;
    value.remove_prefix(end + 1);
  }
  if (left != 0U || !seconds) return std::nullopt;
  return std::chrono::seconds(std::min<std::uint32_t>(*seconds, 86'400));
}

}  // namespace mdstream::inline v0::net
