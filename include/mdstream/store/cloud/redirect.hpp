#pragma once

/// Redirects that are not left to the HTTP client. Pure.

#include <mdstream/net/http_message.hpp>
#include <mdstream/net/http_url.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::store::cloud_detail {

[[nodiscard]] inline bool is_redirect(const net::http_response& answer) noexcept {
  switch (answer.status) {
    case 301:
    case 302:
    case 307:
    case 308: return answer.headers.find("Location").has_value();
    default: return false;
  }
}

/// Where a redirect leads within the server that was asked; nothing where it leads to another one.
[[nodiscard]] inline std::optional<std::string> redirect_within(const std::string& asked,
                                                                const net::http_response& answer) {
  const auto from = net::parse_http_url(asked);
  if (!from || !is_redirect(answer)) return std::nullopt;
  const std::string_view place = *answer.headers.find("Location");
  const bool is_path = place.starts_with('/') && !place.starts_with("//");
  std::string url = is_path ? from->origin() + std::string(place) : std::string(place);
  const auto to = net::parse_http_url(url);
  if (!to || !net::same_origin(*from, *to)) return std::nullopt;
  return url;
}

}  // namespace mdstream::inline v0::store::cloud_detail
