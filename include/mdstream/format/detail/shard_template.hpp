#pragma once

/// The text of a shard's entry in an index with holes for what differs from shard to shard. Entries
/// of one dataset are alike but for numbers and digests; comparing the rest is many times faster
/// than parsing it.

#include <mdstream/format/file_info.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

class shard_template {
 public:
  enum class kind : std::uint8_t { shard_number, bytes, digest, samples };

  struct values {
    std::uint64_t samples = 0;
    std::array<std::uint64_t, file_roles> bytes{};
  };

  /// Forgets the template.
  void clear() {
    holes_.clear();
    text_.clear();
    usable_ = true;
  }

  /// Notes a hole at these offsets of the whole text. Holes come in the order of the text.
  void add_hole(kind what, file_role role, std::size_t begin, std::size_t end) {
    // digests are kept in the order of roles: another order in the text can not be filled in
    if (what == kind::digest && !holes_.empty() && holes_.back().role > role) usable_ = false;
    holes_.push_back({what, role, begin, end});
  }

  /// Makes this entry useless as a template.
  void spoil() noexcept { usable_ = false; }

  /// Keeps the entry [begin, end) of the whole text, with the holes noted so far.
  void complete(std::string_view whole, std::size_t begin, std::size_t end) {
    text_ = whole.substr(begin, end - begin);
    for (hole& each : holes_) {
      each.begin -= begin;
      each.end -= begin;
    }
  }

  /// Matches an entry at the beginning of `text` whose files have the number `number`. Returns its
  /// size, or 0 if it is not like the template. Adds the digests to `digests`.
  [[nodiscard]] std::size_t match(std::string_view text, std::string_view number, values& out,
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

 private:
  struct hole {
    kind what;
    file_role role;
    std::size_t begin;
    std::size_t end;
  };

  static bool take(std::string_view text, std::size_t& at, std::string_view piece) noexcept {
    if (text.size() - at < piece.size() ||
        std::char_traits<char>::compare(text.data() + at, piece.data(), piece.size()) != 0)
      return false;
    at += piece.size();
    return true;
  }

  static bool fill(const hole& each, std::string_view text, std::size_t& at,
                   std::string_view number, values& out, std::vector<std::byte>& digests) {
    switch (each.what) {
      case kind::shard_number: return take(text, at, number);
      case kind::bytes:
        return take_number(text, at, out.bytes[static_cast<std::size_t>(each.role)]);
      case kind::samples: return take_number(text, at, out.samples);
      case kind::digest: return take_digest(text, at, each.end - each.begin, digests);
    }
    return false;
  }

  /// At most 18 digits, which fit; more are left to the parser.
  static bool take_number(std::string_view text, std::size_t& at, std::uint64_t& out) noexcept {
    const std::size_t begin = at;
    std::uint64_t value = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      value = value * 10 + static_cast<std::uint64_t>(text[at] - '0');
    if (at == begin || at - begin > 18 || (at - begin > 1 && text[begin] == '0')) return false;
    out = value;
    return true;
  }

  static bool take_digest(std::string_view text, std::size_t& at, std::size_t size,
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

  /// The value of a hexadecimal digit, above 15 for anything else.
  static constexpr unsigned nibble(char c) noexcept {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    const auto letter = static_cast<unsigned>(static_cast<unsigned char>(c) | 0x20U) - 'a';
    return letter < 6 ? letter + 10 : 16;
  }

  std::vector<hole> holes_;
  std::string text_;
  bool usable_ = true;
};

}  // namespace mdstream::inline v0::detail
