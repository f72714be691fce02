#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/stream/detail/substitutions.hpp>
#include <mdstream/version.hpp>

#include <string>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void substitutions::add(std::uint32_t shard) {
  if (is_bad(shard)) return;
  if (shard >= numbers_.shards())
    throw error(errc::out_of_range,
                "bad shard " + std::to_string(shard) + " of " + std::to_string(numbers_.shards()));
  const auto [first, end] = around(shard);
  const auto bad_here = std::ranges::lower_bound(bad_, end) - std::ranges::lower_bound(bad_, first);
  if (static_cast<std::uint32_t>(bad_here) + 1 == end - first)
    throw error(errc::corrupt,
                "no shard of the stream is left that could take the place of one "
                "that can not be read");
  bad_.insert(std::ranges::lower_bound(bad_, shard), shard);
}

MDSTREAM_INLINE std::uint32_t substitutions::operator()(std::uint32_t shard) const noexcept {
  while (is_bad(shard)) shard = following(shard);
  return shard;
}

MDSTREAM_INLINE sample_location
substitutions::operator()(sample_location at, const shard_locator& locate) const noexcept {
  while (is_bad(at.shard)) {
    at.shard = following(at.shard);
    at.index = static_cast<std::uint32_t>(at.index % locate.shard_samples(at.shard));
  }
  return at;
}

MDSTREAM_INLINE std::uint32_t substitutions::following(std::uint32_t shard) const noexcept {
  const auto [first, end] = around(shard);
  return shard + 1 == end ? first : shard + 1;
}

}  // namespace mdstream::inline v0::detail
