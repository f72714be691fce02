#pragma once

/// A server's words as they may stand in a message.

#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// Printable, not long, and nothing at all where one of `secrets` is in it.
[[nodiscard]] std::string quotable(std::string text, const std::vector<std::string_view>& secrets);

/// Adds what lets a URL in by itself: its query, and the longer values of it.
void add_secrets_of_query(std::string_view url, std::vector<std::string_view>& secrets);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/quote.ipp>
#endif
