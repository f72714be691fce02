#pragma once

/// What an SFTP server's listings say. Pure; every byte of a line is the server's.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail::sftp {

enum class entry_kind { file, directory, link, other };

struct entry {
  std::string name{};  ///< no slash in it; may be `.` or `..`
  std::uint64_t bytes = 0;
  entry_kind kind = entry_kind::other;
};

/// The first of the words that `line` begins with, and the rest, which begins with a blank.
struct cut_word {
  explicit cut_word(std::string_view line);
  std::string_view word, rest;
};

[[nodiscard]] bool is_month(std::string_view word) noexcept;

/// Behind a month's name: the day, the time or the year, a blank, the name.
[[nodiscard]] std::optional<std::string_view> name_behind_month(std::string_view rest);

[[nodiscard]] entry_kind kind_of(char sign) noexcept;

/// A line as `ls -l` has it: kind and rights, links, owner, group, bytes, month, day, time or year,
/// name. Owners and groups are the server's own and may have blanks, so the bytes are what stands
/// before the first month. Of a link, libcurl puts ` -> ` and what it says behind the name. Throws
/// `errc::corrupt` for a line that is none, for what is left out would seem not to be there.
[[nodiscard]] entry parse_entry(std::string_view line);

}  // namespace mdstream::inline v0::detail::sftp

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/sftp/listing.ipp>
#endif
