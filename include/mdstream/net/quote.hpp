#pragma once

/// A server's words as they may stand in a message.

#include <mdstream/version.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::net {

/// Printable, not long, and nothing at all where one of `secrets` is in it.
[[nodiscard]] inline std::string quotable(std::string text,
                                          const std::vector<std::string_view>& secrets) {
  for (const std::string_view secret : secrets) {
    if (!secret.empty() && text.find(secret) != std::string::npos) return "(withheld)";
  }
  constexpr std::size_t longest = 300;
  if (text.size() > longest) text.resize(longest);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text;
}

}  // namespace mdstream::inline v0::net
