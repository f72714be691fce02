#pragma once

/// The memory of `shuffle::pool`: rows of equal size that are put in as they come and drawn in the
/// pool's order.

#include <mdstream/cuda/rows.cuh>
#include <mdstream/order/shuffle/pool.hpp>

#include <array>
#include <cstdint>

namespace mdstream::inline v0::kernels {

/// One column of the pool: `pool.slots()` rows, aligned to 16 and readable to a multiple of it.
struct pool_memory {
  std::byte* data = nullptr;
  std::uint64_t slots = 0;
  std::uint64_t row_bytes = 0;
};

/// Copies the rows of a batch to where `pool.put` said. Two copies at most.
inline void put_rows(const pool_memory& memory, const std::array<shuffle::pool_stretch, 2>& places,
                     const std::byte* batch, stage::stream_handle stream = nullptr) {
  for (const shuffle::pool_stretch& place : places) {
    copy_bytes(stream, memory.data + place.first * memory.row_bytes, batch,
               place.count * memory.row_bytes);
    batch += place.count * memory.row_bytes;
  }
}

/// Copies the rows of a draw to `out`, which is aligned to 16. `ids` is room for `draw.count`
/// numbers. Two kernels; further columns of the same draw can use the ids, with `gather_rows`.
template <class Sink = default_sink>
void draw_rows(const pool_memory& memory, const shuffle::pool_draw& draw, std::int64_t* ids,
               std::byte* out, stage::stream_handle stream = nullptr) {
  for_each_index(stream, draw.count,
                 permuted_row<windowed_permutation>{draw.order, draw.first, draw.slots, ids});
  gather_rows<Sink>({memory.data, memory.slots, memory.row_bytes}, ids, draw.count, out, stream);
}

}  // namespace mdstream::inline v0::kernels
