#pragma once

/// URLs taken apart, RFC 3986. Strict: what a browser would repair is refused, because two programs
/// that repair a URL in two ways open a way around every check of it.

#include <mdstream/core/detail/text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

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
  [[nodiscard]] std::string origin() const;
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

  [[nodiscard]] uri parse();

 private:
  [[noreturn]] void fail(std::string_view why) const;

  [[nodiscard]] bool take(char wanted);

  [[nodiscard]] std::string_view take_until(std::string_view ends);

  std::string read_scheme();

  void read_authority(std::string_view authority, std::size_t begin, uri& out);

  void check_name(std::string_view host, std::size_t begin);

  std::size_t address_size(std::string_view authority, std::size_t begin);

  std::uint16_t read_port(std::string_view text);

  std::string checked(std::string_view part, std::string_view also);

  std::string checked_at(std::string_view part, std::size_t begin, std::string_view also);

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

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/uri.ipp>
#endif
