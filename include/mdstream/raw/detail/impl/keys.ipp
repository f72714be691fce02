#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/raw/detail/keys.hpp>
#include <mdstream/version.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE std::vector<std::string> expand_braces(std::string_view pattern) {
  constexpr std::size_t most = 1'000'000, longest = 4096;
  if (pattern.size() > longest)
    throw error(errc::invalid_argument, "the pattern of " + std::to_string(pattern.size()) +
                                            " bytes is longer than " + std::to_string(longest));
  const std::size_t open = pattern.find('{');
  if (open == std::string_view::npos) return {std::string(pattern)};
  std::size_t depth = 0, close = open;
  std::vector<std::string_view> choices;
  std::size_t begin = open + 1;
  for (; close < pattern.size(); ++close) {
    const char c = pattern[close];
    if (c == '{') ++depth;
    if ((c == ',' && depth == 1) || (c == '}' && depth == 1)) {
      choices.push_back(pattern.substr(begin, close - begin));
      begin = close + 1;
    }
    if (c == '}' && --depth == 0) break;
  }
  const auto refuse = [&](const char* what) {
    throw error(errc::invalid_argument, "the pattern \"" + std::string(pattern) + "\" " + what);
  };
  if (close == pattern.size()) refuse("opens a brace that it does not close");
  std::vector<std::string> inner;
  const auto number = [](std::string_view text) -> std::optional<std::uint64_t> {
    std::uint64_t out = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return out;
  };
  if (choices.size() == 1) {
    const std::size_t dots = choices[0].find("..");
    const std::string_view first = choices[0].substr(0, dots);
    const std::string_view last =
        dots == std::string_view::npos ? std::string_view{} : choices[0].substr(dots + 2);
    const auto from = number(first), to = number(last);
    if (!from || !to || *from > *to) refuse("has braces that are neither {0..9} nor {a,b}");
    if (*to - *from >= most) refuse("stands for more than a million keys");
    for (std::uint64_t i = *from; i <= *to; ++i) {
      std::string digits = std::to_string(i);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      inner.push_back(std::move(digits));
    }
  } else {
    for (const std::string_view each : choices)
      for (std::string& text : expand_braces(each)) inner.push_back(std::move(text));
  }
  const std::vector<std::string> rest = expand_braces(pattern.substr(close + 1));
  if (inner.size() * rest.size() > most) refuse("stands for more than a million keys");
  std::vector<std::string> out;
  out.reserve(inner.size() * rest.size());
  for (const std::string& middle : inner)
    for (const std::string& end : rest)
      out.push_back(std::string(pattern.substr(0, open)) + middle + end);
  return out;
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw::detail {

/// `*` stands for any characters but `/`, `**` for any, `?` for one but `/`. O(key x pattern).
MDSTREAM_INLINE bool matches_stars(std::string_view key, std::string_view pattern) {
  std::vector<bool> now(key.size() + 1, false);  // whether the pattern so far matches key[0, i)
  now[0] = true;
  for (std::size_t p = 0; p < pattern.size(); ++p) {
    std::vector<bool> next(key.size() + 1, false);
    const bool star = pattern[p] == '*';
    const bool all = star && p + 1 < pattern.size() && pattern[p + 1] == '*';
    if (all) ++p;
    for (std::size_t i = 0; i <= key.size(); ++i) {
      if (star) {
        next[i] = now[i] || (i > 0 && next[i - 1] && (all || key[i - 1] != '/'));
      } else if (i > 0 && now[i - 1]) {
        next[i] = key[i - 1] == pattern[p] || (pattern[p] == '?' && key[i - 1] != '/');
      }
    }
    now = std::move(next);
  }
  return now[key.size()];
}

}  // namespace mdstream::inline v0::raw::detail

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE bool is_data(std::string_view key, const std::vector<std::string>& patterns) {
  if (key.empty() || key.back() == '/') return false;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    if (key[at] == '.' || key[at] == '_') return false;
    at = key.find('/', at);
    if (at != std::string_view::npos && ++at == key.size()) return false;
  }
  if (patterns.empty()) return true;
  for (const std::string& each : patterns)
    if (each.empty() || detail::matches_stars(key, each)) return true;
  return false;
}

}  // namespace mdstream::inline v0::raw::detail
