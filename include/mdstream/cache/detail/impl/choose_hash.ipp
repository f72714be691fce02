#pragma once

#include <mdstream/cache/detail/choose_hash.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE const file_hash* choose_hash(const file_info& file, std::string_view asked,
                                             hash_set hashes) {
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
    if (hashes.serves(name))
      if (const file_hash* const found = recorded(name)) return found;
  return nullptr;
}

MDSTREAM_INLINE std::string hash_of_file(hash_set hashes, std::string_view name, int fd,
                                         const std::string& path) {
  const std::unique_ptr<running_hash> hash = hashes.open(name);
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t at = 0;;) {
    const std::size_t got = read_at(fd, at, piece, path);
    hash->update(bytes_view(piece).first(got));
    if (got < piece.size()) return hash->hex();
    at += got;
  }
}

}  // namespace mdstream::inline v0::detail
