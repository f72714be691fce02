#pragma once

/// Percent-encoding, RFC 3986 section 2.

#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// Letters, digits, `-`, `.`, `_` and `~`: what never needs an escape.
[[nodiscard]] constexpr bool is_unreserved(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

/// Every byte but the unreserved ones and those of `keep` as `%XX`, with upper-case digits.
[[nodiscard]] std::string percent_encode(std::string_view text, std::string_view keep = {});

/// The bytes behind `%XX`; all others as they are (`+` is a plus). Nothing where a `%` is not
/// followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/percent.ipp>
#endif
