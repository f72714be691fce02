#pragma once

/// What JSON web tokens (RFC 7519) say about themselves. Pure.

#include <mdstream/net/time_text.hpp>

#include <optional>
#include <string_view>

namespace mdstream::inline v0::net {

/// When the token ends to be good (`exp`); nothing where it does not say so, or is no such token.
[[nodiscard]] std::optional<wall_clock::time_point> web_token_expiry(std::string_view token);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/web_token.ipp>
#endif
