#pragma once

/// What HTTP needs to know of URLs, and what of them may be shown.

#include <mdstream/net/uri.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::net {

/// The parts of an http or https URL that can be sent: no fragment. None for any other text.
[[nodiscard]] std::optional<uri> parse_http_url(std::string_view text);

[[nodiscard]] bool is_uri(std::string_view text);

/// Whether both name the same server by the same scheme: what was meant for one may be sent to the
/// other.
[[nodiscard]] bool same_origin(const uri& a, const uri& b);

/// What of a URL may stand in messages and logs: no user, no password, no query, no fragment, and
/// no control characters. Takes any text. Of what is no URL but has an @, only the scheme is shown:
/// the characters for which it is none may be those of a password.
[[nodiscard]] std::string redacted_url(std::string_view url);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/http_url.ipp>
#endif
