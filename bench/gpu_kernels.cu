#include "gpu_cases.hpp"

#include <mdstream/cuda/convert.cuh>
#include <mdstream/cuda/pool.cuh>
#include <mdstream/cuda/rows.cuh>

#include "support/harness.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <string>
#include <utility>

namespace {

namespace kernels = mdstream::kernels;

constexpr std::uint64_t whole = std::uint64_t{1} << 30;

class memory {
 public:
  explicit memory(std::uint64_t bytes) {
    cudaMalloc(&data_, bytes);
    cudaMemset(data_, 1, bytes);
  }
  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;
  ~memory() { cudaFree(data_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

/// `work` launches kernels that read and write `moved` bytes in all; the limit is a copy within the
/// device that moves as many.
template <class Work>
void kernel_case(const std::string& name, std::uint64_t moved, const Work& work) {
  const memory from(moved / 2), to(moved / 2);
  bench::run_case("gpu", name, "bytes/s",
                  {{"mdstream",
                    [&] {
                      work();
                      cudaDeviceSynchronize();
                      return moved;
                    }},
                   {"limit:copy on the device", [&] {
                      cudaMemcpyAsync(to.as<char>(), from.as<char>(), moved / 2,
                                      cudaMemcpyDeviceToDevice);
                      cudaDeviceSynchronize();
                      return moved;
                    }}});
}

void row_cases(std::uint64_t row_bytes) {
  const std::uint64_t rows = whole / row_bytes;
  const memory table(whole), out(whole), ids(rows * 8);
  const kernels::row_table from{table.as<std::byte>(), rows, row_bytes};
  const std::string size = ", rows of " + std::to_string(row_bytes) + " B";
  kernels::permute_rows(from, mdstream::keyed_permutation(rows, 1), 0, rows, ids.as<std::int64_t>(),
                        out.as<std::byte>());
  kernel_case("gather" + size, 2 * whole, [&] {
    kernels::gather_rows(from, ids.as<std::int64_t>(), rows, out.as<std::byte>());
  });
  kernel_case("permute" + size, 2 * whole, [&] {
    kernels::permute_rows(from, mdstream::keyed_permutation(rows, 1), 0, rows,
                          ids.as<std::int64_t>(), out.as<std::byte>());
  });
  mdstream::shuffle::pool pool({.samples = rows, .size = rows, .batch = rows});
  static_cast<void>(pool.put(rows, ""));
  const auto draw = pool.draw(pool.drawable());
  kernel_case("pool draw" + size, 2 * draw.count * row_bytes, [&] {
    kernels::draw_rows({table.as<std::byte>(), rows, row_bytes}, draw, ids.as<std::int64_t>(),
                       out.as<std::byte>());
  });
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

}  // namespace

void kernel_cases() {
  row_cases(4096);
  row_cases(1000);  // rows of no alignment
  row_cases(64);
  convert_cases();
}
