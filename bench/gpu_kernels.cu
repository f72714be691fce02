#include "gpu_cases.hpp"

#include <mdstream/cuda/convert.cuh>
#include <mdstream/cuda/rows.cuh>
#include <mdstream/cuda/shuffle_buffer.cuh>

#include <string>

namespace {

namespace kernels = mdstream::kernels;

constexpr std::uint64_t whole = std::uint64_t{1} << 30;

using memory = device_memory;

void row_cases(std::uint64_t row_bytes) {
  const std::string size = ", rows of " + std::to_string(row_bytes) + " B";
  if (!bench::is_wanted("gather" + size) && !bench::is_wanted("permute" + size) &&
      !bench::is_wanted("shuffle buffer draw" + size))
    return;
  const std::uint64_t rows = whole / row_bytes;
  const memory table(whole), out(whole), ids(rows * 8);
  const kernels::row_table from{table.as<std::byte>(), rows, row_bytes};
  kernels::permute_rows(from, mdstream::detail::keyed_permutation(rows, 1), 0, rows,
                        ids.as<std::int64_t>(), out.as<std::byte>());
  kernel_case("gather" + size, 2 * whole + rows * 8, [&] {
    kernels::gather_rows(from, ids.as<std::int64_t>(), rows, out.as<std::byte>());
  });
  kernel_case("permute" + size, 2 * whole + 2 * rows * 8, [&] {
    kernels::permute_rows(from, mdstream::detail::keyed_permutation(rows, 1), 0, rows,
                          ids.as<std::int64_t>(), out.as<std::byte>());
  });
  mdstream::shuffle::buffer buffer({.samples = rows, .size = rows, .batch = rows});
  static_cast<void>(buffer.put(rows, ""));
  const auto draw = buffer.draw(buffer.drawable());
  const kernels::buffer_memory waiting{table.as<std::byte>(), rows, row_bytes};
  bench::run_case("gpu", "shuffle buffer draw" + size, "bytes/s",
                  {{"mdstream",
                    [&] {
                      kernels::draw_rows(waiting, draw, ids.as<std::int64_t>(),
                                         out.as<std::byte>());
                      cudaDeviceSynchronize();
                      return 2 * draw.count * row_bytes;
                    }},
                   {"limit:gather of the same rows", [&] {
                      kernels::gather_rows({waiting.data, waiting.slots, row_bytes},
                                           ids.as<std::int64_t>(), draw.count, out.as<std::byte>());
                      cudaDeviceSynchronize();
                      return 2 * draw.count * row_bytes;
                    }}});
}

void convert_cases() {
  constexpr std::uint64_t count = whole / 8;
  const memory tokens(count * 2), ids(whole);
  const auto* const in = tokens.as<std::uint16_t>();
  kernel_case("uint16 to int64 ids", count * 10, [&] {
    kernels::widen<std::uint16_t, std::int64_t>(in, count, ids.as<std::int64_t>());
  });
  const mdstream::collate::label_rows rows{.rows = count / 2048, .row_elements = 2048};
  kernel_case("labels", count * 10,
              [&] { kernels::shift_labels(in, rows, ids.as<std::int64_t>()); });
  const auto images =
      mdstream::collate::image_rows{.images = 1024, .pixels = 224 * 224}.normalised_by(
          {0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F, 1});
  const std::uint64_t values = images.images * images.pixels * images.channels;
  const memory pixels(values), out(values * 4);
  kernel_case("normalise, NHWC to NCHW float", values * 5,
              [&] { kernels::normalise(pixels.as<std::uint8_t>(), images, out.as<float>()); });
  kernel_case("normalise, NHWC to NCHW half", values * 3, [&] {
    kernels::normalise(pixels.as<std::uint8_t>(), images, out.as<mdstream::float16>());
  });
}

__global__ void wait_for(std::uint64_t nanoseconds) {
  const auto now = [] {
    std::uint64_t t = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
  };
  for (const std::uint64_t begin = now(); now() - begin < nanoseconds;) __nanosleep(1000);
}

}  // namespace

void keep_busy(double milliseconds, cudaStream_t stream) {
  wait_for<<<1, 1, 0, stream>>>(static_cast<std::uint64_t>(milliseconds * 1e6));
}

void kernel_cases() {
  row_cases(4096);
  row_cases(1000);  // rows of no alignment
  row_cases(64);
  convert_cases();
}
