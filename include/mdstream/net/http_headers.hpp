#pragma once

/// Headers of HTTP answers and those of their values that stores rely on (RFC 9110). Pure; every
/// byte is a server's and is checked.

#include <mdstream/core/text.hpp>
#include <mdstream/net/time_text.hpp>
#include <mdstream/net/uri.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mdstream::inline v0::net {

namespace detail {

using mdstream::detail::equal_ignoring_case;
using mdstream::detail::starts_with_ignoring_case;
using mdstream::detail::whole_number;

}  // namespace detail

struct http_header {
  std::string name{};
  std::string value{};

  friend bool operator==(const http_header&, const http_header&) = default;
};

/// The headers of one answer, in their order. Names are compared without case.
class http_headers {
 public:
  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  /// The value of the first header of that name.
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const noexcept {
    for (const http_header& each : all_) {
      if (detail::equal_ignoring_case(each.name, name)) return each.value;
    }
    return std::nullopt;
  }

  /// Takes `Name: value` without its line end. False when that is not what the line is.
  [[nodiscard]] bool add_line(std::string_view line) {
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

  void clear() noexcept { all_.clear(); }

 private:
  [[nodiscard]] static bool is_token(char c) noexcept {
    const char l = detail::to_lower(c);
    return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  }

  std::vector<http_header> all_;
};

/// `bytes first-last/total` or `bytes */total`.
struct content_range {
  bool satisfied = false;              ///< first and last are there
  std::uint64_t first = 0;             ///< offset of the first byte
  std::uint64_t last = 0;              ///< offset of the last byte, >= first
  std::optional<std::uint64_t> total;  ///< bytes of the whole object, > last; none for `*`

  /// None for anything that is not one, or contradicts itself.
  [[nodiscard]] static std::optional<content_range> parse(std::string_view value) noexcept {
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
};

/// The pause that a `Retry-After` asks for at the time `now`: seconds, or a date. Never negative
/// and never more than a day.
[[nodiscard]] inline std::optional<std::chrono::seconds> parse_retry_after(
    std::string_view value, wall_clock::time_point now) {
  const auto bounded = [](std::int64_t seconds) {
    return std::chrono::seconds(std::clamp<std::int64_t>(seconds, 0, 86'400));
  };
  if (const auto seconds = detail::whole_number<std::uint32_t>(value)) return bounded(*seconds);
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return bounded(std::chrono::ceil<std::chrono::seconds>(*date - now).count());
}

/// The pause after which a `RateLimit` (of the draft that the Hugging Face Hub follows,
/// `"api";r=0;t=42`) has requests left; none where it has some, or is no such text.
[[nodiscard]] inline std::optional<std::chrono::seconds> parse_rate_limit(std::string_view value) {
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
