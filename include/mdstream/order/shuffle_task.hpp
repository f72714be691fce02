#pragma once

/// What a shuffler is given.

#include <mdstream/order/detail/plan_store.hpp>
#include <mdstream/order/shuffle_units.hpp>

#include <cstdint>

namespace mdstream::inline v0 {

/// What a shuffler is asked for.
struct shuffle_task {
  shuffle_units units;  ///< the samples of the epoch
  std::uint64_t num_canonical_nodes = 1;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t block_size = 1 << 18;  ///< in samples
  const detail::plan_store* plans =
      nullptr;  ///< where a shuffler may keep what takes long to compute
};

}  // namespace mdstream::inline v0
