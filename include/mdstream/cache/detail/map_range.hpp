#pragma once

/// Shards that are ranges of files of this machine, mapped where they lie.

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/shard_maker.hpp>

#include <cstdint>
#include <string>

namespace mdstream::inline v0::detail {

/// The file in `directory` that has a shard of a maker with a `step`.
[[nodiscard]] std::string file_of_range(const std::string& directory, const shard_maker& maker,
                                        std::uint32_t shard);

/// Whether the file of the shard lies in the directory as the maker knows it.
[[nodiscard]] bool has_range(const std::string& directory, const shard_maker& maker,
                             std::uint32_t shard) noexcept;

/// Maps the shard, and reads its bytes from front to back before they are needed in another order.
/// Blocks meanwhile. Throws `errc::corrupt`, naming the file and both versions, where it is another
/// than the maker knows. What changes the file afterwards shows in the mapping.
[[nodiscard]] file_mapping map_range(const std::string& directory, const shard_maker& maker,
                                     std::uint32_t shard);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/map_range.ipp>
#endif
