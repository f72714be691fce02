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
  void clear();

  /// Notes a hole at these offsets of the whole text. Holes come in the order of the text.
  void add_hole(kind what, file_role role, std::size_t begin, std::size_t end);

  /// Makes this entry useless as a template.
  void spoil() noexcept { usable_ = false; }

  /// Keeps the entry [begin, end) of the whole text, with the holes noted so far.
  void complete(std::string_view whole, std::size_t begin, std::size_t end);

  /// Matches an entry at the beginning of `text` whose files have the number `number`. Returns its
  /// size, or 0 if it is not like the template. Adds the digests to `digests`.
  [[nodiscard]] std::size_t match(std::string_view text, std::string_view number, values& out,
                                  std::vector<std::byte>& digests) const;

 private:
  struct hole {
    kind what;
    file_role role;
    std::size_t begin;
    std::size_t end;
  };

  static bool take(std::string_view text, std::size_t& at, std::string_view piece) noexcept;

  static bool fill(const hole& each, std::string_view text, std::size_t& at,
                   std::string_view number, values& out, std::vector<std::byte>& digests);

  /// At most 18 digits, which fit; more are left to the parser.
  static bool take_number(std::string_view text, std::size_t& at, std::uint64_t& out) noexcept;

  static bool take_digest(std::string_view text, std::size_t& at, std::size_t size,
                          std::vector<std::byte>& digests);

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

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/format/detail/impl/shard_template.ipp>
#endif
