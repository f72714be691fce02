#pragma once

/// The memory of `shuffle::buffer`: rows of equal size that are put in as they come and drawn in
/// the buffer's order.

#include <mdstream/cuda/rows.cuh>
#include <mdstream/order/shuffle/buffer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace mdstream::inline v0::kernels {

/// One column of the buffer: `buffer.slots()` rows, aligned to 16 and readable to a multiple of it.
struct buffer_memory {
  std::byte* data = nullptr;
  std::uint64_t slots = 0;
  std::uint64_t row_bytes = 0;
};

/// Copies the rows of a batch to where `buffer.put` said. Two copies at most.
inline void put_rows(const buffer_memory& memory,
                     const std::array<shuffle::buffer_stretch, 2>& places, const std::byte* batch,
                     stage::stream_handle stream = nullptr) {
  for (const shuffle::buffer_stretch& place : places) {
    copy_bytes(stream, memory.data + place.first * memory.row_bytes, batch,
               place.count * memory.row_bytes);
    batch += place.count * memory.row_bytes;
  }
}

/// Rows of a draw's numbers within one block of the buffer's order, whose keys, and those of the
/// two blocks that it mixes, are made once instead of for every row.
class drawn_row {
 public:
  drawn_row(const shuffle::buffer_draw& draw, std::uint64_t first, std::int64_t* ids) noexcept
      : second_(draw.order.second_block(first)),
        early_(draw.order.first_block(second_.begin)),
        late_(draw.order.first_block(second_.end - 1)),
        first_(first),
        by_ring_(draw.slots),
        ids_(ids) {}

  /// The number behind the last of the block.
  [[nodiscard]] std::uint64_t end() const noexcept { return second_.end; }

  MDSTREAM_HOST_DEVICE void operator()(std::int64_t k) const noexcept {
    const std::uint64_t x = first_ + static_cast<std::uint64_t>(k) - second_.begin;
    const std::uint64_t between = second_.begin + second_.order(x);
    const std::uint64_t sample = between < early_.end
                                     ? early_.begin + early_.order(between - early_.begin)
                                     : late_.begin + late_.order(between - late_.begin);
    ids_[k] = static_cast<std::int64_t>(by_ring_(sample).remainder);
  }

 private:
  mdstream::detail::windowed_permutation::block second_, early_, late_;
  std::uint64_t first_;
  mdstream::detail::divisor by_ring_;
  std::int64_t* ids_;
};

/// Copies the rows of a draw to `out`, which is aligned to 16. `ids` is room for `draw.count`
/// numbers. Two kernels; further columns of the same draw can use the ids, with `gather_rows`.
/// Precondition: the draw is one that the buffer gave.
template <class Sink = default_sink>
void draw_rows(const buffer_memory& memory, const shuffle::buffer_draw& draw, std::int64_t* ids,
               std::byte* out, stage::stream_handle stream = nullptr) {
  // One pass: all that can be drawn now is in one block.
  for (std::uint64_t done = 0; done < draw.count;) {
    const drawn_row rows(draw, draw.first + done, ids + done);
    const std::uint64_t count = std::min(rows.end() - draw.first, draw.count) - done;
    for_each_index(stream, count, rows);
    done += count;
  }
  gather_rows<Sink>({memory.data, memory.slots, memory.row_bytes}, ids, draw.count, out, stream);
}

}  // namespace mdstream::inline v0::kernels
