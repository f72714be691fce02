#pragma once

/// What an SFTP server's listings say. Pure; every byte of a line is the server's.

#include <mdstream/core/error.hpp>
#include <mdstream/net/http_headers.hpp>
#include <mdstream/net/quote.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::store::sftp_detail {

enum class entry_kind { file, directory, link, other };

struct entry {
  std::string name{};  ///< no slash in it; may be `.` or `..`
  std::uint64_t bytes = 0;
  entry_kind kind = entry_kind::other;
};

/// The first of the words that `line` begins with, and the rest, which begins with a blank.
struct cut_word {
  explicit cut_word(std::string_view line) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    word = line.substr(0, line.find(' '));
    rest = line.substr(word.size());
  }
  std::string_view word, rest;
};

[[nodiscard]] inline bool is_month(std::string_view word) noexcept {
  constexpr std::array<std::string_view, 12> names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return std::find(names.begin(), names.end(), word) != names.end();
}

/// Behind a month's name: the day, the time or the year, a blank, the name.
[[nodiscard]] inline std::optional<std::string_view> name_behind_month(std::string_view rest) {
  const cut_word day(rest), time(day.rest);
  const auto number = net::detail::whole_number<unsigned>(day.word);
  if (!number || *number < 1 || *number > 31) return std::nullopt;
  if (time.word.find_first_not_of("0123456789:") != std::string_view::npos) return std::nullopt;
  if (time.word.size() < 4 || time.rest.size() < 2) return std::nullopt;
  return time.rest.substr(1);  // a name may begin with blanks
}

[[nodiscard]] inline entry_kind kind_of(char sign) noexcept {
  switch (sign) {
    case '-': return entry_kind::file;
    case 'd': return entry_kind::directory;
    case 'l': return entry_kind::link;
    default: return entry_kind::other;
  }
}

/// A line as `ls -l` has it: kind and rights, links, owner, group, bytes, month, day, time or year,
/// name. Owners and groups are the server's own and may have blanks, so the bytes are what stands
/// before the first month. Of a link, libcurl puts ` -> ` and what it says behind the name. Throws
/// `errc::corrupt` for a line that is none, for what is left out would seem not to be there.
[[nodiscard]] inline entry parse_entry(std::string_view line) {
  const auto refuse = [&](const char* why) -> error {
    return {errc::corrupt, {.what = why, .cause = net::quotable(std::string(line), {})}};
  };
  const cut_word rights(line);
  entry out{.kind = rights.word.empty() ? entry_kind::other : kind_of(rights.word.front())};
  std::string_view before = rights.word;
  std::optional<std::string_view> name;
  for (cut_word at(rights.rest); !at.word.empty() && !name; at = cut_word(at.rest)) {
    const auto bytes = net::detail::whole_number<std::uint64_t>(before);
    if (bytes && is_month(at.word)) {
      name = name_behind_month(at.rest);
      out.bytes = *bytes;
    }
    before = at.word;
  }
  if (!name) throw refuse("a line of the server's listing is not as `ls -l` has it");
  out.name = name->substr(0, out.kind == entry_kind::link ? name->find(" -> ") : name->npos);
  if (out.name.empty() || out.name.find_first_of(std::string_view("/\0", 2)) != out.name.npos) {
    throw refuse("a name in the server's listing is none of a file");
  }
  return out;
}

}  // namespace mdstream::inline v0::store::sftp_detail
