#pragma once

#include <mdstream/raw/detail/lines.hpp>
#include <mdstream/version.hpp>

#include <cstring>

namespace mdstream::inline v0::raw::detail {

MDSTREAM_INLINE line next_line(std::string_view text) noexcept {
  const void* end = text.empty() ? nullptr : std::memchr(text.data(), '\n', text.size());
  std::size_t size = text.size();
  line out{.has_end = end != nullptr};
  if (end != nullptr) size = static_cast<std::size_t>(static_cast<const char*>(end) - text.data());
  out.next = out.has_end ? size + 1 : size;
  if (size > 0 && text[size - 1] == '\r') --size;
  out.content = text.substr(0, size);
  return out;
}

MDSTREAM_INLINE std::uint64_t cut_lines(const window& in, cut_sink& out, std::string_view blanks) {
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
    if (!each.is_blank(blanks) && !out.sample(begin, begin + each.next)) break;
    at += each.next;
  }
  return at;
}

MDSTREAM_INLINE std::optional<std::uint64_t> first_line(const window& in, std::uint64_t from) {
  const std::uint64_t before = from - 1 - in.offset;
  if (in.bytes.size() < before) return std::nullopt;
  const std::string_view text = in.text().substr(static_cast<std::size_t>(before));
  const line each = next_line(text);
  if (!each.has_end && !in.last) return std::nullopt;
  return from - 1 + each.next;
}

}  // namespace mdstream::inline v0::raw::detail
