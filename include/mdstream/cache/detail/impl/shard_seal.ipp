#pragma once

#include <mdstream/cache/detail/shard_seal.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <bit>
#include <span>
#include <vector>

namespace mdstream::inline v0::detail {

inline constexpr std::uint64_t seal_magic = 0x6465616c6573646d;  // "mdsealed"

// The magic, the low half of the size, the CRC-32C of the shard.
struct shard_seal {
  std::uint64_t magic = 0;
  std::uint32_t size = 0, crc32c = 0;
};
static_assert(sizeof(shard_seal) == seal_bytes);

MDSTREAM_INLINE std::array<std::byte, seal_bytes> seal_of(std::size_t size, std::uint32_t crc32c) {
  return std::bit_cast<std::array<std::byte, seal_bytes>>(
      shard_seal{seal_magic, static_cast<std::uint32_t>(size), crc32c});
}

MDSTREAM_INLINE std::optional<shard_seal> read_seal(int fd, std::uint64_t size,
                                                    const std::string& path) {
  std::array<std::byte, seal_bytes> end{};
  if (size < seal_bytes || read_at(fd, size - seal_bytes, end, path) != seal_bytes)
    return std::nullopt;
  const auto seal = std::bit_cast<shard_seal>(end);
  const bool is_seal =
      seal.magic == seal_magic && seal.size == static_cast<std::uint32_t>(size - seal_bytes);
  return is_seal ? std::optional(seal) : std::nullopt;
}

MDSTREAM_INLINE std::optional<std::uint64_t> sealed_bytes(int fd, std::uint64_t size,
                                                          const std::string& path) {
  if (!read_seal(fd, size, path)) return std::nullopt;
  return size - seal_bytes;
}

MDSTREAM_INLINE file_mapping map_sealed(const std::string& path) {
  const unique_fd fd = open_file(path, O_RDONLY);
  const std::uint64_t size = file_size(fd.get(), path);
  if (size < seal_bytes) throw error(errc::corrupt, {.what = "has no seal", .url = path});
  return file_mapping::of(fd.get(), static_cast<std::size_t>(size - seal_bytes), path);
}

MDSTREAM_INLINE bool fits_seal(int fd, const std::string& path) {
  const std::uint64_t size = file_size(fd, path);
  const std::optional<shard_seal> seal = read_seal(fd, size, path);
  if (!seal) return false;
  std::vector<std::byte> piece(std::size_t{1} << 20);
  std::uint32_t sum = 0;
  for (std::uint64_t at = 0, end = size - seal_bytes; at < end;) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), end - at));
    const std::size_t got = read_at(fd, at, mutable_bytes(piece).first(count), path);
    if (got == 0) return false;
    sum = crc32c(bytes_view(piece).first(got), sum);
    at += got;
  }
  return sum == seal->crc32c;
}

}  // namespace mdstream::inline v0::detail
