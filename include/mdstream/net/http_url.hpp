#pragma once

/// URLs of http and https (RFC 3986, the part that a request needs), and what of them may be shown.

#include <mdstream/version.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0 {

/// The parts of an http or https URL, as views into its text: nothing is decoded or normalised.
struct http_url {
  bool secure = false;          ///< https
  std::string_view userinfo{};  ///< `user:password`, as it is written
  std::string_view host{};      ///< a name or an address; IPv6 with its brackets
  std::uint16_t port = 0;       ///< the scheme's where none is written
  std::string_view path{};      ///< begins with `/`, or is empty
  std::string_view query{};     ///< without the `?`

  /// None for anything that is not such a URL: other schemes, no host, characters that have to be
  /// percent-encoded, a fragment. Complexity: linear.
  [[nodiscard]] static std::optional<http_url> parse(std::string_view text) noexcept;
};

namespace detail {

[[nodiscard]] constexpr char lower_ascii(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower_ascii(a[i]) != lower_ascii(b[i])) return false;
  }
  return true;
}

[[nodiscard]] inline bool starts_with_ignoring_case(std::string_view text,
                                                    std::string_view start) noexcept {
  return text.size() >= start.size() && equal_ignoring_case(text.substr(0, start.size()), start);
}

/// All of `text` as a decimal number; none for signs, blanks, or what does not fit.
template <class T>
[[nodiscard]] std::optional<T> decimal(std::string_view text) noexcept {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || text.empty() || text.front() == '-') return {};
  return value;
}

[[nodiscard]] inline bool is_host(std::string_view host) noexcept {
  const bool literal = host.starts_with('[');
  if (literal) {
    if (!host.ends_with(']') || host.size() < 4) return false;
    host = host.substr(1, host.size() - 2);
  }
  for (const char c : host) {
    const char l = lower_ascii(c);
    const bool plain = (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') || c == '.';
    if (!plain && !(literal ? c == ':' : c == '-' || c == '_')) return false;
  }
  return !host.empty();
}

}  // namespace detail

inline std::optional<http_url> http_url::parse(std::string_view text) noexcept {
  for (const char c : text) {
    if (c <= ' ' || c >= 0x7f || c == '\\' || c == '#') return std::nullopt;  // char may be signed
  }
  http_url out;
  if (detail::starts_with_ignoring_case(text, "https://")) {
    out.secure = true;
    text.remove_prefix(8);
  } else if (detail::starts_with_ignoring_case(text, "http://")) {
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  std::string_view authority = text.substr(0, text.find_first_of("/?"));
  text.remove_prefix(authority.size());
  const std::size_t question = text.find('?');
  out.path = text.substr(0, question);
  if (question != std::string_view::npos) out.query = text.substr(question + 1);
  if (const std::size_t at = authority.find('@'); at != std::string_view::npos) {
    out.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);  // a second `@` is refused as part of the host
  }
  const std::size_t after_literal = authority.find(']');
  const std::size_t colon =
      authority.find(':', after_literal == std::string_view::npos ? 0 : after_literal);
  out.host = authority.substr(0, colon);
  if (!detail::is_host(out.host)) return std::nullopt;
  out.port = out.secure ? 443 : 80;
  if (colon != std::string_view::npos) {
    const auto port = detail::decimal<std::uint16_t>(authority.substr(colon + 1));
    if (!port || *port == 0) return std::nullopt;
    out.port = *port;
  }
  return out;
}

/// Whether both name the same server by the same scheme: what was meant for one may be sent to the
/// other.
[[nodiscard]] inline bool same_origin(const http_url& a, const http_url& b) noexcept {
  return a.secure == b.secure && a.port == b.port && detail::equal_ignoring_case(a.host, b.host);
}

/// What of a URL may stand in messages and logs: no user, no password, no query, no fragment, and
/// no control characters. Takes any text.
[[nodiscard]] inline std::string redacted_url(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  std::string out;
  if (const std::size_t start = url.find("://"); start != std::string_view::npos) {
    out = url.substr(0, start + 3);
    url.remove_prefix(start + 3);
    const std::string_view authority = url.substr(0, url.find('/'));
    const std::size_t at = authority.rfind('@');
    if (at != std::string_view::npos) url.remove_prefix(at + 1);
  }
  out += url;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

/// Every byte but letters, digits, `-._~` and those of `keep` as `%XX`.
[[nodiscard]] inline std::string percent_encoded(std::string_view text,
                                                 std::string_view keep = "/") {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const char l = detail::lower_ascii(c);
    const bool plain = (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~").find(c) != std::string_view::npos ||
                       keep.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

}  // namespace mdstream::inline v0
