#include "gpu_cases.hpp"

#include <mdstream/stage/cuda.hpp>
#include <mdstream/stage/pinned.hpp>

#include "support/harness.hpp"

#include <string>
#include <vector>

namespace {

namespace collate = mdstream::collate;

/// A dense batch of rows that lie one after another, staged until 4 GiB are on the device, and the
/// same bytes by cudaMemcpyAsync from one pinned buffer.
void staging_case(const std::string& name, std::uint64_t bytes, std::size_t copy_threads) {
  if (!bench::is_wanted(name)) return;
  constexpr std::uint64_t row = 1 << 16, total = std::uint64_t{4} << 30;
  const std::vector<std::byte> data(bytes, std::byte{3});
  const collate::source_column source{.type = mdstream::dtype::uint8, .value_bytes = row};
  const collate::output_column output{.values_bytes = bytes};
  std::vector<collate::sample_bytes> samples;
  for (std::uint64_t at = 0; at < bytes; at += row) samples.push_back({data.data() + at, row});
  const collate::collate_plan plan{.samples = samples.data(),
                                   .sample_count = samples.size(),
                                   .sources = &source,
                                   .source_count = 1,
                                   .outputs = &output,
                                   .output_count = 1,
                                   .slab_bytes = collate::align_up(bytes)};
  mdstream::stage::cuda<3> stager({.copy_threads = copy_threads});
  mdstream::stage::pinned<3> filler({.copy_threads = copy_threads});
  void *pinned = nullptr, *device = nullptr;
  cudaMallocHost(&pinned, bytes);
  cudaMalloc(&device, bytes);
  bench::run_case("gpu", name, "bytes/s",
                  {{"mdstream",
                    [&] {
                      mdstream::stage::cuda<3>::slot slot;
                      for (std::uint64_t done = 0; done < total; done += bytes) {
                        slot = {};
                        slot = stager.stage(plan);
                        slot.ready_on(nullptr);
                      }
                      cudaDeviceSynchronize();
                      return total;
                    }},
                   {"limit:cudaMemcpyAsync, pinned",
                    [&] {
                      for (std::uint64_t done = 0; done < total; done += bytes)
                        cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice);
                      cudaDeviceSynchronize();
                      return total;
                    }},
                   {"limit:the same copies, nothing sent", [&] {
                      for (std::uint64_t done = 0; done < total; done += bytes)
                        static_cast<void>(filler.stage(plan));
                      return total;
                    }}});
  cudaFreeHost(pinned);
  cudaFree(device);
}

}  // namespace

void staging_cases() {
  for (const std::size_t threads :
       {std::size_t{0}, std::size_t{mdstream::detail::usable_cores()}}) {
    const std::string who = threads == 0 ? "" : ", " + std::to_string(threads) + " threads";
    staging_case("staging, 64 MiB" + who, std::uint64_t{64} << 20, threads);
    staging_case("staging, 1 MiB" + who, std::uint64_t{1} << 20, threads);
  }
}
