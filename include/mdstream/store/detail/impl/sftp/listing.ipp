#pragma once

#include <mdstream/core/detail/text.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/net/quote.hpp>
#include <mdstream/store/detail/sftp/listing.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cstring>

namespace mdstream::inline v0::detail::sftp {

MDSTREAM_INLINE cut_word::cut_word(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  word = line.substr(0, line.find(' '));
  rest = line.substr(word.size());
}

MDSTREAM_INLINE bool is_month(std::string_view word) noexcept {
  constexpr std::array<std::string_view, 12> names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return std::find(names.begin(), names.end(), word) != names.end();
}

MDSTREAM_INLINE std::optional<std::string_view> name_behind_month(std::string_view rest) {
  const cut_word day(rest), time(day.rest);
  const auto number = v0::detail::whole_number<unsigned>(day.word);
  if (!number || *number < 1 || *number > 31) return std::nullopt;
  if (time.word.find_first_not_of("0123456789:") != std::string_view::npos) return std::nullopt;
  if (time.word.size() < 4 || time.rest.size() < 2) return std::nullopt;
  return time.rest.substr(1);  // a name may begin with blanks
}

MDSTREAM_INLINE entry_kind kind_of(char sign) noexcept {
  switch (sign) {
    case '-': return entry_kind::file;
    case 'd': return entry_kind::directory;
    case 'l': return entry_kind::link;
    default: return entry_kind::other;
  }
}

MDSTREAM_INLINE entry parse_entry(std::string_view line) {
  const auto refuse = [&](const char* why) -> error {
    return {errc::corrupt, {.what = why, .cause = net::quotable(std::string(line), {})}};
  };
  const cut_word rights(line);
  entry out{.kind = rights.word.empty() ? entry_kind::other : kind_of(rights.word.front())};
  std::string_view before = rights.word;
  std::optional<std::string_view> name;
  for (cut_word at(rights.rest); !at.word.empty() && !name; at = cut_word(at.rest)) {
    const auto bytes = v0::detail::whole_number<std::uint64_t>(before);
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

}  // namespace mdstream::inline v0::detail::sftp
