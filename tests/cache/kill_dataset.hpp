#pragma once

// The dataset that the processes of processes_test.cpp share.

#include <cstdint>

#include "cache/fixture.hpp"

namespace cache_test {

inline constexpr dataset_shape kill_shape{.shards = 32, .bytes = 60'000, .zipped = true};

/// No less than what one of its shards takes, with its compressed file.
inline constexpr std::uint64_t kill_shard_bytes = 125'000;

}  // namespace cache_test
