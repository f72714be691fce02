#pragma once

/// Rows that end with a line feed.

#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::raw::detail {

/// Bytes of a byte order mark that `text` begins with.
[[nodiscard]] inline std::size_t mark_bytes(std::string_view text) noexcept {
  return text.substr(0, 3) == "\xEF\xBB\xBF" ? 3 : 0;
}

/// The next line of `text`: without its end, and what is behind it. `has_end` is false where the
/// text ends without a line feed.
struct line {
  std::string_view content{};
  std::size_t next = 0;
  bool has_end = false;

  /// Whether it has none but `blanks`.
  [[nodiscard]] bool is_blank(std::string_view blanks = {}) const noexcept {
    return content.find_first_not_of(blanks) == std::string_view::npos;
  }
};

[[nodiscard]] line next_line(std::string_view text) noexcept;

/// Calls `use(content)` for each line of `text` that has more than `blanks`.
template <class Use>
void for_each_line(std::string_view text, Use&& use, std::string_view blanks = {}) {
  while (!text.empty()) {
    const line each = next_line(text);
    if (!each.is_blank(blanks)) use(each.content);
    text.remove_prefix(each.next);
  }
}

/// Cuts objects whose samples are the lines that have more than `blanks`.
[[nodiscard]] std::uint64_t cut_lines(const window& in, cut_sink& out,
                                      std::string_view blanks = {});

/// Where the first line at or after `from` begins. Nothing while the window shows too little: it
/// has to reach from the byte before `from` to the end of the line there.
[[nodiscard]] std::optional<std::uint64_t> first_line(const window& in, std::uint64_t from);

}  // namespace mdstream::inline v0::raw::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/raw/detail/impl/lines.ipp>
#endif
