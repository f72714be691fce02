#pragma once

// The kernels as plain functions, for a test that the host's compiler compiles.

#include <mdstream/collate/convert.hpp>
#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/format/dtype.hpp>
#include <mdstream/order/detail/keyed_permutation.hpp>
#include <mdstream/order/shuffle/buffer.hpp>
#include <mdstream/stage/stager.hpp>

#include <cstddef>
#include <cstdint>

namespace launch {

using stream = mdstream::stage::stream_handle;

void widen(const std::uint16_t* in, std::uint64_t count, std::int64_t* out, stream on);
void shift_labels(const std::uint16_t* tokens, const mdstream::collate::label_rows& about,
                  std::int64_t* labels, stream on);
void normalise(const std::uint8_t* in, const mdstream::collate::image_rows& about, float* out,
               stream on);
void normalise(const std::uint8_t* in, const mdstream::collate::image_rows& about,
               mdstream::float16* out, stream on);
void gather_rows(const std::byte* table, std::uint64_t rows, std::uint64_t row_bytes,
                 const std::int64_t* ids, std::uint64_t count, std::byte* out, stream on);
void permute_rows(const std::byte* table, std::uint64_t rows, std::uint64_t row_bytes,
                  const mdstream::detail::keyed_permutation& order, std::int64_t* ids,
                  std::byte* out, stream on);
void draw_rows(std::byte* memory, std::uint64_t slots, std::uint64_t row_bytes,
               const mdstream::shuffle::buffer_draw& draw, std::int64_t* ids, std::byte* out,
               stream on);

}  // namespace launch
