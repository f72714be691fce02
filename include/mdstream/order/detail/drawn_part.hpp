#pragma once

/// A part of a shard that was chosen for an epoch: what it is drawn from again when it is read.

#include <mdstream/order/detail/numpy_random.hpp>

#include <cstdint>

namespace mdstream::inline v0::detail {

struct drawn_part {
  numpy::snapshot before;  ///< the generator as it was when the part was drawn
  std::uint64_t shard_size;
};

}  // namespace mdstream::inline v0::detail
