#pragma once

#include <mdstream/net/quote.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <cstddef>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE std::string quotable(std::string text,
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

MDSTREAM_INLINE void add_secrets_of_query(std::string_view url,
                                          std::vector<std::string_view>& secrets) {
  const std::size_t question = url.find('?');
  if (question == std::string_view::npos) return;
  std::string_view left = url.substr(question + 1);
  secrets.push_back(left);
  constexpr std::size_t shortest = 8;  // of what is no common word
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find('&'));
    left.remove_prefix(std::min(one.size() + 1, left.size()));
    const std::string_view value = one.substr(std::min(one.find('=') + 1, one.size()));
    if (value.size() >= shortest) secrets.push_back(value);
  }
}

}  // namespace mdstream::inline v0::net
