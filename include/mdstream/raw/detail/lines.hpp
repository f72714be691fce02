#pragma once

/// Rows that end with a line feed.

#include <mdstream/core/bytes.hpp>
#include <mdstream/raw/format.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
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

  [[nodiscard]] bool is_blank() const noexcept { return content.empty(); }
};

[[nodiscard]] inline line next_line(std::string_view text) noexcept {
  const void* end = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
  std::size_t size = text.size();
  line out{.has_end = end != nullptr};
  if (end != nullptr) size = static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
  out.next = out.has_end ? size + 1 : size;
  if (size > 0 && text[size - 1] == '\r') --size;
  out.content = text.substr(0, size);
  return out;
}

/// Calls `use(content)` for each line of `text` that is not blank.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const line each = next_line(text);
    if (!each.is_blank()) use(each.content);
    text.remove_prefix(each.next);
  }
}

/// Cuts objects whose samples are the lines that are not blank.
[[nodiscard]] inline std::uint64_t cut_lines(const window& in, cut_sink& out) {
  const std::string_view text = in.text();
  std::size_t at = 0;
  if (in.offset == 0) {
    if (text.size() < 3 && !in.last) return 0;
    at = mark_bytes(text);
  }
  while (at < text.size()) {
    const line each = next_line(text.substr(at));
    if (!each.has_end && !in.last) break;
    const std::uint64_t begin = in.offset + at;
    if (!each.is_blank() && !out.sample(begin, begin + each.next)) break;
    at += each.next;
  }
  return at;
}

/// Where the first line at or after `from` begins, whose byte before `in` has as well.
[[nodiscard]] inline std::optional<std::uint64_t> first_line(const window& in, std::uint64_t from) {
  const std::string_view text = in.text().substr(static_cast<std::size_t>(from - 1 - in.offset));
  const line each = next_line(text);
  if (!each.has_end && !in.last) return std::nullopt;
  return from - 1 + each.next;
}

}  // namespace mdstream::inline v0::raw::detail
