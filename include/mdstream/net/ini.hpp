#pragma once

/// Files of sections with `name = value` lines, as AWS, OCI and others keep their settings.

#include <mdstream/core/error.hpp>
#include <mdstream/core/text.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::net {

/// The settings of one section by name.
using ini_section = std::map<std::string, std::string, std::less<>>;
using ini_sections = std::map<std::string, ini_section, std::less<>>;

namespace detail {

using mdstream::detail::trimmed;

/// Without a comment, which begins with `#` or `;` after white space.
[[nodiscard]] constexpr std::string_view without_comment(std::string_view value) noexcept {
  for (std::size_t i = 1; i < value.size(); ++i) {
    const bool comment = value[i] == '#' || value[i] == ';';
    if (comment && (value[i - 1] == ' ' || value[i - 1] == '\t')) {
      return trimmed(value.substr(0, i));
    }
  }
  return value;
}

}  // namespace detail

/// Where a `#` or `;` begins a comment: AWS's tools also know those behind a value, Python's
/// configparser, by which others read theirs, has them in the value.
enum class ini_comments { own_lines, behind_values };

/// Reads such a text as AWS's tools do: `[section]`, `name = value`, lines that begin with `#` or
/// `;` are comments, a line indented more than the setting above it goes on with that (as
/// `name.sub = value`),
/// equal sections are one, the last of equal settings counts. Names are lower-cased. `file` is for
/// messages, which name the line and quote nothing: it may hold a secret. Throws
/// `errc::invalid_argument` for anything else.
[[nodiscard]] inline ini_sections parse_ini(std::string_view text, const std::string& file,
                                            ini_comments comments = ini_comments::behind_values) {
  ini_sections out;
  ini_section* section = nullptr;
  std::string above;
  std::size_t above_indent = 0;
  std::size_t number = 0;
  const auto fail = [&](const char* why) {
    throw error(
        errc::invalid_argument,
        {.what = "line " + std::to_string(number) + " is not understood: " + why, .url = file});
  };
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::string_view line = detail::trimmed(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.find('\0') != std::string_view::npos) fail("it holds a NUL");
    const std::size_t indent = raw.find_first_not_of(" \t");
    if (line.front() == '[') {
      const std::size_t close = line.find(']');
      if (close == std::string_view::npos) fail("a section has no ]");
      section = &out[std::string(detail::trimmed(line.substr(1, close - 1)))];
      above.clear();
      continue;
    }
    const std::size_t equals = line.find('=');
    if (section == nullptr) fail("it belongs to no section");
    if (equals == std::string_view::npos || equals == 0) fail("it is no name = value");
    std::string name(detail::trimmed(line.substr(0, equals)));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (!above.empty() && indent > above_indent) {
      name = above + '.' + name;
    } else {
      above = name;
      above_indent = indent;
    }
    const std::string_view value = detail::trimmed(line.substr(equals + 1));
    (*section)[name] =
        comments == ini_comments::behind_values ? detail::without_comment(value) : value;
  }
  return out;
}

/// The setting of that name, unless it is absent or empty.
[[nodiscard]] inline std::optional<std::string> setting(const ini_section& section,
                                                        std::string_view name) {
  const auto at = section.find(name);
  if (at == section.end() || at->second.empty()) return std::nullopt;
  return at->second;
}

}  // namespace mdstream::inline v0::net
