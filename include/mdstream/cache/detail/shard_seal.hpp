#pragma once

/// What ends the file of a shard that was made here: no index records its size and checksum.

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

inline constexpr std::size_t seal_bytes = 16;

/// The seal of a shard of so many bytes.
[[nodiscard]] std::array<std::byte, seal_bytes> seal_of(std::size_t size, std::uint32_t crc32c);

/// Bytes of the shard in an open file of `size` bytes; none where its end is not the seal of a
/// shard of that size.
[[nodiscard]] std::optional<std::uint64_t> sealed_bytes(int fd, std::uint64_t size,
                                                        const std::string& path);

/// Maps the shard in a file that was just published, without the seal.
[[nodiscard]] file_mapping map_sealed(const std::string& path);

/// Whether the shard's bytes are those that were sealed. Reads all of them.
[[nodiscard]] bool fits_seal(int fd, const std::string& path);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/shard_seal.ipp>
#endif
