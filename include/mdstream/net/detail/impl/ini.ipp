#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/net/ini.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::net {

MDSTREAM_INLINE ini_sections parse_ini(std::string_view text, const std::string& file,
                                       ini_comments comments) {
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

MDSTREAM_INLINE std::optional<std::string> setting(const ini_section& section,
                                                   std::string_view name) {
  const auto at = section.find(name);
  if (at == section.end() || at->second.empty()) return std::nullopt;
  return at->second;
}

}  // namespace mdstream::inline v0::net
