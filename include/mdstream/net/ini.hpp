#pragma once

/// Files of sections with `name = value` lines, as AWS, OCI and others keep their settings.

#include <mdstream/core/detail/text.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

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
      return mdstream::detail::trimmed(value.substr(0, i));
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
[[nodiscard]] ini_sections parse_ini(std::string_view text, const std::string& file,
                                     ini_comments comments = ini_comments::behind_values);

/// The setting of that name, unless it is absent or empty.
[[nodiscard]] std::optional<std::string> setting(const ini_section& section, std::string_view name);

}  // namespace mdstream::inline v0::net

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/net/detail/impl/ini.ipp>
#endif
