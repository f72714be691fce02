#pragma once

/// What HTTP needs to know of URLs, and what of them may be shown.

#include <mdstream/core/error.hpp>
#include <mdstream/net/uri.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// The parts of an http or https URL that can be sent: no fragment. None for any other text.
[[nodiscard]] inline std::optional<uri> parse_http_url(std::string_view text) {
  try {
    uri out = parse_uri(text);
    const bool http = out.scheme == "http" || out.scheme == "https";
    if (http && text.find('#') == std::string_view::npos) return out;
  } catch (const error&) {
  }
  return std::nullopt;
}

[[nodiscard]] inline bool is_uri(std::string_view text) {
  try {
    (void)parse_uri(text);
    return true;
  } catch (const error&) {
    return false;
  }
}

/// Whether both name the same server by the same scheme: what was meant for one may be sent to the
/// other.
[[nodiscard]] inline bool same_origin(const uri& a, const uri& b) {
  const auto port = [](const uri& of) -> std::uint16_t {
    return of.port.value_or(of.scheme == "https" ? 443 : 80);
  };
  return a.scheme == b.scheme && a.host == b.host && port(a) == port(b);
}

/// What of a URL may stand in messages and logs: no user, no password, no query, no fragment, and
/// no control characters. Takes any text. Of what is no URL but has an @, only the scheme is shown:
/// the characters for which it is none may be those of a password.
[[nodiscard]] inline std::string redacted_url(std::string_view url) {
  if (url.find('@') != std::string_view::npos && !is_uri(url)) {
    const std::size_t start = url.find("://");
    return start < url.find('@') ? redacted_url(url.substr(0, start + 3)) : std::string();
  }
  url = url.substr(0, url.find_first_of("?#"));
  std::string out;
  if (const std::size_t start = url.find("://"); start != std::string_view::npos) {
    out = url.substr(0, start + 3);
    url.remove_prefix(start + 3);
    const std::size_t at = url.substr(0, url.find('/')).rfind('@');
    if (at != std::string_view::npos) url.remove_prefix(at + 1);
  }
  out += url;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

}  // namespace mdstream::inline v0::net
