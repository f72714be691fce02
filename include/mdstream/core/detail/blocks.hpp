#pragma once

/// Bytes looked at piece by piece.

#include <mdstream/core/bytes.hpp>

#include <algorithm>
#include <cstddef>

namespace mdstream::inline v0::detail {

/// Calls `f` with one block of at most 1 MiB behind the other, until it throws: what reads many
/// bytes can hear of a stop between, and let go of what it has read.
template <class F>
void for_blocks(bytes_view bytes, F f) {
  constexpr std::size_t most = 1 << 20;
  while (!bytes.empty()) {
    const bytes_view block = bytes.first(std::min(bytes.size(), most));
    f(block);
    bytes = bytes.subspan(block.size());
  }
}

}  // namespace mdstream::inline v0::detail
