#pragma once

#include <mdstream/hash/detail/hash_set.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::unique_ptr<running_hash> hash_set::open(std::string_view name) const {
  if (!serves_(name) && hash::xxh64::serves(name))
    return std::make_unique<model<hash::xxh64>>(hash::xxh64());
  return open_(name);
}

MDSTREAM_INLINE std::string hash_set::hex_of(std::string_view name, bytes_view bytes) const {
  const std::unique_ptr<running_hash> running = open(name);
  running->update(bytes);
  return running->hex();
}

}  // namespace mdstream::inline v0::detail
