#pragma once

/// Which of the hashes that an index records a file is checked by.

#include <mdstream/format/file_info.hpp>
#include <mdstream/hash/choice.hpp>
#include <mdstream/store/file.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0 {

/// Asked for in place of a hash's name: no hash is checked.
inline constexpr std::string_view no_hash = "none";

namespace detail {

/// The hash to check a file by: that of the name asked for; when none is asked for, the cheapest of
/// those that are recorded and can be computed. Null: there is none.
template <hash_policy H>
[[nodiscard]] const file_hash* choose_hash(const file_info& file, std::string_view asked) {
  if (asked == no_hash) return nullptr;
  const auto recorded = [&file](std::string_view name) {
    const auto at = std::ranges::find(file.hashes, name, &file_hash::name);
    return at == file.hashes.end() ? nullptr : &*at;
  };
  if (!asked.empty()) return recorded(asked);
  static constexpr std::array<std::string_view, 17> by_cost{
      "xxh3_64", "xxh3_128", "xxh128",   "xxh64",    "xxh32",   "blake2b",
      "sha1",    "md5",      "sha512",   "sha384",   "sha256",  "sha224",
      "blake2s", "sha3_224", "sha3_256", "sha3_384", "sha3_512"};
  for (const std::string_view name : by_cost)
    if (can_hash<H>(name))
      if (const file_hash* const found = recorded(name)) return found;
  return nullptr;
}

/// The digest of an open file. Throws as reading does.
template <hash_policy H>
[[nodiscard]] std::string hash_of_file(std::string_view name, int fd, const std::string& path) {
  return with_hash<H>(name, [&](auto hash) {
    std::vector<std::byte> piece(std::size_t{1} << 20);
    for (std::uint64_t at = 0;;) {
      const std::size_t got = read_at(fd, at, piece, path);
      hash.update(bytes_view(piece).first(got));
      if (got < piece.size()) return hash.hex();
      at += got;
    }
  });
}

}  // namespace detail

}  // namespace mdstream::inline v0
