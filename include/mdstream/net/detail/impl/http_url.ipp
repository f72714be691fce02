#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/http_url.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::optional<uri> parse_http_url(std::string_view text) {
  try {
    uri out = parse_uri(text);
    const bool http = out.scheme == "http" || out.scheme == "https";
    if (http && text.find('#') == std::string_view::npos) return out;
  } catch (const error&) {
  }
  return std::nullopt;
}

MDSTREAM_INLINE bool is_uri(std::string_view text) {
  try {
    (void)parse_uri(text);
    return true;
  } catch (const error&) {
    return false;
  }
}

MDSTREAM_INLINE bool same_origin(const uri& a, const uri& b) {
  const auto port = [](const uri& of) -> std::uint16_t {
    return of.port.value_or(of.scheme == "https" ? 443 : 80);
  };
  return a.scheme == b.scheme && a.host == b.host && port(a) == port(b);
}

MDSTREAM_INLINE std::string redacted_url(std::string_view url) {
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
