// Trains on a small dataset where there is a device; elsewhere the loader says that there is none,
// and everything but the device works.
#include "trainer.hpp"

#include <mdstream/mdstream.hpp>
#include <mdstream/stage/cuda_collated.hpp>

#include <cuda_runtime.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace mds = mdstream;

using policies = mds::policies<mds::schema<mds::column<"tokens", mds::ndarray<std::uint16_t, 128>>,
                                           mds::column<"weight", double>>,
                               mds::collate::dense, mds::stage::cuda_collated<3>>;

namespace {

constexpr std::uint32_t samples = 100;

unsigned long long write_dataset(const std::string& where) {
  mds::writer<policies> out({.out = where});
  unsigned long long sum = 0;
  std::array<std::uint16_t, 128> tokens{};
  for (std::uint32_t i = 0; i < samples; ++i) {
    tokens.fill(static_cast<std::uint16_t>(i));
    sum += std::uint64_t{i} * tokens.size();
    out.write(tokens, i * 0.5);
  }
  out.finish();
  return sum;
}

int train(const std::string& folder, unsigned long long expected) {
  mds::loader<policies> loader(
      {.remote = folder + "/store", .local = folder + "/cache", .batch_size = 8});
  cudaStream_t stream = nullptr;
  unsigned long long *sum = nullptr, result = 0;
  cudaStreamCreate(&stream);
  cudaMalloc(&sum, sizeof *sum);
  cudaMemsetAsync(sum, 0, sizeof *sum, stream);
  for (auto& batch : loader.epoch()) {
    batch.ready_on(stream);
    train_step(batch.get<"tokens">(), sum, stream);
  }
  cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  std::printf("the device counted %llu of %llu\n", result, expected);
  return result == expected ? 0 : 1;
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "consumer-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const unsigned long long expected = write_dataset(folder + "/store");
  int status = 1;
  try {
    status = train(folder, expected);
  } catch (const mds::error& e) {
    // The one error that a machine without a device may give.
    std::puts(e.what());
    if (e.code() == mds::errc::device_error &&
        std::string(e.what()).starts_with("no CUDA device can be used"))
      status = 0;
  }
  std::filesystem::remove_all(folder);
  return status;
}
