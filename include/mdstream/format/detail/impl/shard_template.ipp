#pragma once

#include <mdstream/format/detail/shard_template.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void shard_template::clear() {
  holes_.clear();
  usable_ = true;
}

MDSTREAM_INLINE void shard_template::add_hole(kind what, file_role role, std::size_t begin,
                                              std::size_t end) {
  // digests are kept in the order of roles: another order in the text can not be filled in
  if (what == kind::digest && !holes_.empty() && holes_.back().role > role) usable_ = false;
  holes_.push_back({what, role, begin, end});
}

MDSTREAM_INLINE void shard_template::complete(std::string_view whole, std::size_t begin,
                                              std::size_t end) {
  text_ = whole.substr(begin, end - begin);
  for (hole& each : holes_) {
    each.begin -= begin;
    each.end -= begin;
  }
}

MDSTREAM_INLINE std::size_t shard_template::match(std::string_view text, std::string_view number,
                                                  values& out,
                                                  std::vector<std::byte>& digests) const {
  if (!usable_ || text_.empty()) return 0;
  const std::size_t digests_before = digests.size();
  std::size_t at = 0;
  std::size_t from = 0;
  for (const hole& each : holes_) {
    if (!take(text, at, std::string_view(text_).substr(from, each.begin - from)) ||
        !fill(each, text, at, number, out, digests)) {
      digests.resize(digests_before);
      return 0;
    }
    from = each.end;
  }
  if (!take(text, at, std::string_view(text_).substr(from))) {
    digests.resize(digests_before);
    return 0;
  }
  return at;
}

MDSTREAM_INLINE bool shard_template::take(std::string_view text, std::size_t& at,
                                          std::string_view piece) noexcept {
  if (text.size() - at < piece.size() ||
      std::char_traits<char>::compare(text.data() + at, piece.data(), piece.size()) != 0)
    return false;
  at += piece.size();
  return true;
}

MDSTREAM_INLINE bool shard_template::fill(const hole& each, std::string_view text, std::size_t& at,
                                          std::string_view number, values& out,
                                          std::vector<std::byte>& digests) {
  switch (each.what) {
    case kind::shard_number: return take(text, at, number);
    case kind::bytes: return take_number(text, at, out.bytes[static_cast<std::size_t>(each.role)]);
    case kind::samples: return take_number(text, at, out.samples);
    case kind::digest: return take_digest(text, at, each.end - each.begin, digests);
  }
  return false;
}

MDSTREAM_INLINE bool shard_template::take_number(std::string_view text, std::size_t& at,
                                                 std::uint64_t& out) noexcept {
  const std::size_t begin = at;
  std::uint64_t value = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
    value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
  if (at == begin || at - begin > 18 || (at - begin > 1 && text[begin] == '0')) return false;
  out = value;
  return true;
}

MDSTREAM_INLINE bool shard_template::take_digest(std::string_view text, std::size_t& at,
                                                 std::size_t size,
                                                 std::vector<std::byte>& digests) {
  if (text.size() - at < size) return false;
  for (std::size_t i = 0; i < size; i += 2) {
    const unsigned high = nibble(text[at + i]);
    const unsigned low = nibble(text[at + i + 1]);
    if ((high | low) > 15) return false;
    digests.push_back(static_cast<std::byte>(high << 4 | low));
  }
  at += size;
  return true;
}

}  // namespace mdstream::inline v0::detail
