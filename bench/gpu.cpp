// Staging and kernels on a GPU, against what its copy engines and memory give in the same run.
// Where there is no device, one line says why nothing was measured.

#include <cstdio>

#ifdef BENCH_WITH_CUDA
#include <cuda_runtime_api.h>

#include "gpu_cases.hpp"

#include <string>

int main(int count, char** words) {
  const std::string root = count > 1 ? words[1] : "build/bench-data";
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::printf("{\"bench\":\"gpu\",\"skipped\":\"no CUDA device can be used: %s\"}\n",
                cudaGetErrorName(status));
    return 0;
  }
  cudaDeviceProp device{};
  cudaGetDeviceProperties(&device, 0);
  std::printf("{\"bench\":\"gpu\",\"device\":\"%s\"}\n", device.name);
  staging_cases();
  trainer_case(root);
  collate_cases();
  kernel_cases();
}
#else
int main() {
  std::puts("{\"bench\":\"gpu\",\"skipped\":\"it was built without a CUDA compiler\"}");
}
#endif
