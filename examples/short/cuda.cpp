// Batches in the memory of a CUDA device, copied there while the step before runs.

#include <mdstream/mdstream.hpp>
#include <mdstream/stage/cuda.hpp>

#include <cuda_runtime_api.h>

#include <cstdio>
#include <vector>

namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"label", std::int64_t>>, mds::collate::dense,
                               mds::stage::cuda<3>>;  // a ring of three buffers

int main() {
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  mds::loader<policies> loader({.remote = "reviews", .batch_size = 50});
  std::int64_t positive = 0;
  for (auto& batch : loader.epoch()) {
    batch.ready_on(stream);                    // the stream waits for the copy, the host does not
    const auto labels = batch.get<"label">();  // a view of device memory, for your kernels
    std::vector<std::int64_t> on_host(labels.size());
    cudaMemcpyAsync(on_host.data(), labels.data(), labels.size() * sizeof(std::int64_t),
                    cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (const std::int64_t label : on_host) positive += label;
  }
  std::printf("%lld labels are positive\n", static_cast<long long>(positive));
}
