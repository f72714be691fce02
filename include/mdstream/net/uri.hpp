#pragma once

/// URLs taken apart, RFC 3986. Strict: what a browser would repair is refused, because two programs
/// that repair a URL in two ways open a way around every check of it.

#include <mdstream/core/error.hpp>
#include <mdstream/core/text.hpp>
#include <mdstream/net/percent.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace mdstream::inline v0::net {

/// An absolute URL with an authority. What may hold escapes (user info, path, query, fragment)
/// stays as it was written.
struct uri {
  std::string scheme{};     ///< lower case
  std::string user_info{};  ///< may hold a password: never into a message
  std::string host{};       ///< lower case; an IPv6 address in its brackets
  std::optional<std::uint16_t> port{};
  std::string path{};  ///< empty, or begins with `/`
  std::string query{};
  std::string fragment{};

  /// `host` or `host:port`.
  [[nodiscard]] std::string authority() const {
    return port ? host + ':' + std::to_string(*port) : host;
  }
  /// Scheme, host, and the port where it is written; `same_origin` compares.
  [[nodiscard]] std::string origin() const { return scheme + "://" + authority(); }
};

namespace detail {

[[nodiscard]] constexpr bool is_sub_delimiter(char c) noexcept {
  return std::string_view("!$&'()*+,;=").find(c) != std::string_view::npos;
}

using mdstream::detail::to_lower;

/// Reads a URL from front to back. A failure names the byte and quotes nothing, for the text may
/// hold a password.
class uri_parser {
 public:
  explicit uri_parser(std::string_view text) : text_(text) {}

  [[nodiscard]] uri parse() {
    constexpr std::size_t longest = 64 * 1024;
    if (text_.size() > longest) fail("it is longer than 64 KiB");
    uri out;
    out.scheme = read_scheme();
    const std::string_view authority = take_until("/?#");
    read_authority(authority, at_ - authority.size(), out);
    out.path = checked(take_until("?#"), "/:@");
    if (take('?')) out.query = checked(take_until("#"), "/?:@");
    if (take('#')) out.fragment = checked(take_until(""), "/?:@");
    return out;
  }

 private:
  [[noreturn]] void fail(std::string_view why) const {
    throw error(errc::invalid_argument,
                diagnostics{.what = "a URL is malformed: " + std::string(why), .byte = at_});
  }

  [[nodiscard]] bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  [[nodiscard]] std::string_view take_until(std::string_view ends) {
    const std::size_t end = std::min(text_.find_first_of(ends, at_), text_.size());
    const std::string_view part = text_.substr(at_, end - at_);
    at_ = end;
    return part;
  }

  std::string read_scheme() {
    const std::size_t end = text_.find("://");
    if (end == std::string_view::npos || end == 0) fail("it has no scheme");
    for (; at_ < end; ++at_) {
      const char c = to_lower(text_[at_]);
      const bool letter = c >= 'a' && c <= 'z';
      const bool later = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
      if (!letter && (at_ == 0 || !later)) fail("its scheme has a character that none can have");
    }
    at_ = end + 3;
    return to_lower(text_.substr(0, end));
  }

  void read_authority(std::string_view authority, std::size_t begin, uri& out) {
    at_ = begin;
    if (const std::size_t at_sign = authority.rfind('@'); at_sign != std::string_view::npos) {
      out.user_info = checked_at(authority.substr(0, at_sign), begin, ":");
      authority.remove_prefix(at_sign + 1);
      begin += at_sign + 1;
    }
    const std::size_t host_size =
        authority.starts_with('[') ? address_size(authority, begin) : authority.find(':');
    const std::string_view host = authority.substr(0, host_size);
    at_ = begin;
    if (host.empty()) fail("it names no host");
    if (host.size() > 255) fail("its host is longer than any name");
    if (!host.starts_with('[')) check_name(host, begin);
    out.host = to_lower(host);
    if (host.size() < authority.size()) {
      at_ = begin + host.size();
      out.port = read_port(authority.substr(host.size()));
    }
    at_ = begin + authority.size();
  }

  void check_name(std::string_view host, std::size_t begin) {
    for (at_ = begin; const char c : host) {
      if (!is_unreserved(c) || c == '~') fail("its host has a character that no name has");
      ++at_;
    }
  }

  std::size_t address_size(std::string_view authority, std::size_t begin) {
    const std::size_t end = authority.find(']');
    at_ = begin;
    if (end == std::string_view::npos || end < 3) fail("its address has no end");
    for (const char c : authority.substr(1, end - 1)) {
      if (hex_value(c) < 0 && c != ':' && c != '.') fail("its address is none");
    }
    return end + 1;
  }

  std::uint16_t read_port(std::string_view text) {
    std::uint16_t value = 0;
    const std::string_view digits = text.substr(1);
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (text.front() != ':' || digits.empty() || failure != std::errc() ||
        end != digits.data() + digits.size() || value == 0) {
      fail("its port is not a number from 1 to 65535");
    }
    return value;
  }

  std::string checked(std::string_view part, std::string_view also) {
    const std::size_t end = at_;
    std::string out = checked_at(part, at_ - part.size(), also);
    at_ = end;
    return out;
  }

  std::string checked_at(std::string_view part, std::size_t begin, std::string_view also) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      at_ = begin + i;
      const char c = part[i];
      if (is_unreserved(c) || is_sub_delimiter(c) || also.find(c) != std::string_view::npos) {
        continue;
      }
      if (c != '%') fail("it has a character that has to be escaped");
      if (part.size() - i < 3 || hex_value(part[i + 1]) < 0 || hex_value(part[i + 2]) < 0) {
        fail("an escape needs two hexadecimal digits");
      }
      i += 2;
    }
    return std::string(part);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace detail

/// Takes `scheme://[user@]host[:port][/path][?query][#fragment]` apart. Throws
/// `errc::invalid_argument`, naming the byte, for anything else: controls, spaces, bytes above
/// ASCII, broken escapes, an empty host, a port beyond 65535.
[[nodiscard]] inline uri parse_uri(std::string_view text) {
  return detail::uri_parser(text).parse();
}

/// A URL without what may be secret in it, for messages: user info, query and fragment left out.
[[nodiscard]] inline std::string public_form(const uri& url) { return url.origin() + url.path; }

}  // namespace mdstream::inline v0::net
