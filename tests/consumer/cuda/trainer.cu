#include "trainer.hpp"

namespace {

__global__ void add_up(const std::uint16_t* tokens, std::size_t count, unsigned long long* sum) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < count) atomicAdd(sum, static_cast<unsigned long long>(tokens[i]));
}

}  // namespace

void train_step(mdstream::dense_view<std::uint16_t> tokens, unsigned long long* sum,
                mdstream::stage::stream_handle stream) {
  const std::size_t count = tokens.values().size();
  const auto blocks = static_cast<unsigned>((count + 255) / 256);
  add_up<<<blocks, 256, 0, stream>>>(tokens.data(), count, sum);
}
