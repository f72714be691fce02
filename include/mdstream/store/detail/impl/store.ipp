#pragma once

#include <mdstream/store/store.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0 {

MDSTREAM_INLINE std::string_view url_scheme(std::string_view url) noexcept {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto allowed = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  };
  const std::size_t colon = url.find(':');
  if (colon == std::string_view::npos || colon == 0 || !letter(url.front())) return {};
  const std::string_view scheme = url.substr(0, colon);
  for (const char c : scheme) {
    if (!allowed(c)) return {};
  }
  return scheme;
}

MDSTREAM_INLINE bool key_is_safe(std::string_view key) noexcept {
  if (key.empty() || key.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = key.find('/');
    const std::string_view part = key.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    key.remove_prefix(slash + 1);
  }
}

MDSTREAM_INLINE std::string join_key(std::string_view prefix, std::string_view name) {
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  if (prefix.empty()) return std::string(name);
  std::string out(prefix);
  if (!name.empty()) {
    out += '/';
    out += name;
  }
  return out;
}

MDSTREAM_INLINE void require_safe_key(std::string_view key, std::string url) {
  if (key_is_safe(key)) return;
  throw error(errc::invalid_argument, {.what = "the key \"" + std::string(key) +
                                               "\" leaves the store or names nothing in it",
                                       .url = std::move(url)});
}

}  // namespace mdstream::inline v0
