#include "cuda/launch.hpp"

#include <mdstream/batch.hpp>
#include <mdstream/cuda/collate.cuh>
#include <mdstream/cuda/convert.cuh>
#include <mdstream/cuda/rows.cuh>
#include <mdstream/cuda/shuffle_buffer.cuh>

namespace launch {

namespace kernels = mdstream::kernels;

void widen(const std::uint16_t* in, std::uint64_t count, std::int64_t* out, stream on) {
  kernels::widen<std::uint16_t, std::int64_t>(in, count, out, 0, on);
}
void shift_labels(const std::uint16_t* tokens, const mdstream::collate::label_rows& about,
                  std::int64_t* labels, stream on) {
  kernels::shift_labels(tokens, about, labels, on);
}
void normalise(const std::uint8_t* in, const mdstream::collate::image_rows& about, float* out,
               stream on) {
  kernels::normalise(in, about, out, on);
}
void normalise(const std::uint8_t* in, const mdstream::collate::image_rows& about,
               mdstream::float16* out, stream on) {
  kernels::normalise(in, about, out, on);
}
void gather_rows(const std::byte* table, std::uint64_t rows, std::uint64_t row_bytes,
                 const std::int64_t* ids, std::uint64_t count, std::byte* out, stream on) {
  kernels::gather_rows({table, rows, row_bytes}, ids, count, out, on);
}
void permute_rows(const std::byte* table, std::uint64_t rows, std::uint64_t row_bytes,
                  const mdstream::detail::keyed_permutation& order, std::int64_t* ids,
                  std::byte* out, stream on) {
  kernels::permute_rows({table, rows, row_bytes}, order, 0, rows, ids, out, on);
}
void draw_rows(std::byte* memory, std::uint64_t slots, std::uint64_t row_bytes,
               const mdstream::shuffle::buffer_draw& draw, std::int64_t* ids, std::byte* out,
               stream on) {
  kernels::draw_rows({memory, slots, row_bytes}, draw, ids, out, on);
}

}  // namespace launch
