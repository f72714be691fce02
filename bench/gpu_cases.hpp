#pragma once

#include "gpu_memory.hpp"
#include "support/harness.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

// Batches from host memory to the device, by the stagers.
void staging_cases();
// A loader before a trainer that takes its time.
void trainer_case(const std::string& root);
// Keeps a stream of the device busy for some time.
void keep_busy(double milliseconds, cudaStream_t stream);
// Batches on the device, to columns.
void collate_cases();
// Kernels over device memory; compiled by nvcc.
void kernel_cases();

/// `work` launches kernels that read and write `moved` bytes in all; the limit is a copy within the
/// device that moves as many.
template <class Work>
void kernel_case(const std::string& name, std::uint64_t moved, const Work& work) {
  if (!bench::is_wanted(name)) return;
  constexpr std::uint64_t times = 4;  // in a turn, so that its launch is not what is measured
  const device_memory from(moved / 2), to(moved / 2);
  bench::run_case("gpu", name, "bytes/s",
                  {{"mdstream",
                    [&] {
                      for (std::uint64_t i = 0; i < times; ++i) work();
                      cudaDeviceSynchronize();
                      return times * moved;
                    }},
                   {"limit:copy on the device", [&] {
                      for (std::uint64_t i = 0; i < times; ++i)
                        cudaMemcpyAsync(to.as<char>(), from.as<char>(), moved / 2,
                                        cudaMemcpyDeviceToDevice);
                      cudaDeviceSynchronize();
                      return times * moved;
                    }}});
  if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess)
    std::printf("{\"bench\":\"gpu\",\"case\":\"%s\",\"failed\":\"%s\"}\n", name.c_str(),
                cudaGetErrorName(status));
}
