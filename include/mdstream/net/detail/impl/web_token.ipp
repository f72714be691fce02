#pragma once

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/base64.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/json/value.hpp>
#include <mdstream/net/web_token.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::optional<wall_clock::time_point> web_token_expiry(std::string_view token) {
  const std::size_t begin = token.find('.') + 1, end = token.find('.', begin);
  if (begin == 0 || end == std::string_view::npos) return std::nullopt;
  const auto claims = mdstream::detail::from_base64_url(token.substr(begin, end - begin));
  if (!claims) return std::nullopt;
  try {
    const auto seconds = json::parse(as_text(*claims)).get<std::int64_t>("exp");
    return detail::time_of_seconds(seconds);
  } catch (const error&) {
    return std::nullopt;
  }
}

}  // namespace mdstream::inline v0::net
