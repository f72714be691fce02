// libtorch DIRECTORY: trains a network of libtorch on batches that PyTorch reads where they lie.
//
// A column becomes a tensor through DLPack, without a copy; the tensor keeps its batch alive. Where
// PyTorch was built with CUDA and there is a device, the batches lie on it. The dataset is written
// to DIRECTORY first: two spirals, to be told apart.

#include <mdstream/interop/dlpack.hpp>
#include <mdstream/mdstream.hpp>

#include <ATen/DLConvertor.h>
#include <torch/torch.h>

#ifdef EXAMPLE_WITH_CUDA
#include <c10/cuda/CUDAStream.h>
#include <mdstream/stage/cuda.hpp>
#endif

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

namespace mds = mdstream;
using namespace mds::literals;

struct policies : mds::default_policies {
  using schema =
      mds::schema<mds::column<"x", mds::ndarray<float, 2>>, mds::column<"label", mds::int_>>;
  using collator = mds::collate::dense;
};
#ifdef EXAMPLE_WITH_CUDA
struct device_policies : policies {
  using stager = mds::stage::cuda<3>;
};
#endif

void write_dataset(const std::string& where) {
  mds::writer<policies> out({.out = where, .size_limit = 16_KiB, .exist_ok = true});
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const int label = i % 2;
    const double turn = 0.5 + 5.0 * static_cast<double>(random()) / 0x1p32;
    const double angle = turn + 3.14159 * label;
    out.write(std::array{static_cast<float>(0.2 * turn * std::cos(angle)),
                         static_cast<float>(0.2 * turn * std::sin(angle))},
              label);
  }
  out.finish();
}

/// A column as a tensor that shows the batch's own memory.
template <class Batch, class View>
torch::Tensor tensor_of(const std::shared_ptr<const Batch>& batch, const View& column) {
  torch::Tensor tensor =
      at::fromDLPack(reinterpret_cast<DLManagedTensor*>(mds::dlpack::export_tensor(batch, column)));
  if (tensor.data_ptr() != column.data()) throw std::logic_error("the column was copied");
  return tensor;
}

/// Trains, and says whether the network has learnt.
template <class Policies>
bool train(const std::string& directory, torch::Device device) {
  using batch_type = typename mds::loader<Policies>::batch_type;
  torch::nn::Sequential network(torch::nn::Linear(2, 32), torch::nn::Tanh(),
                                torch::nn::Linear(32, 32), torch::nn::Tanh(),
                                torch::nn::Linear(32, 2));
  network->to(device);
  torch::optim::Adam optimizer(network->parameters(), 0.01);

  mds::loader<Policies> loader({.local = directory, .batch_size = 50, .seed = 2});
  double accuracy = 0.0;
  for (int epoch = 0; epoch < 8; ++epoch) {
    std::int64_t samples = 0, right = 0;
    for (auto& each : loader.epoch()) {
#ifdef EXAMPLE_WITH_CUDA
      // PyTorch's stream waits for the copy to the device, and the batch's memory for that stream.
      if (device.is_cuda()) each.ready_on(c10::cuda::getCurrentCUDAStream());
#endif
      // The loop's batch is one object that the next step refills: tensors need one of their own.
      const auto batch = std::make_shared<const batch_type>(std::move(each));
      const torch::Tensor x = tensor_of(batch, batch->template get<"x">());  // float32 {50, 2}
      const torch::Tensor label = tensor_of(batch, batch->template get<"label">());  // int64 {50}
      const torch::Tensor scores = network->forward(x);
      const torch::Tensor loss = torch::nn::functional::cross_entropy(scores, label);
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
      right += (scores.argmax(1) == label).sum().template item<std::int64_t>();
      samples += x.size(0);
    }
    accuracy = 100.0 * static_cast<double>(right) / static_cast<double>(samples);
    std::printf("epoch %d on %s: %lld samples, %.1f %% right\n", epoch, device.str().c_str(),
                static_cast<long long>(samples), accuracy);
  }
  std::printf("%s\n", accuracy > 90.0 ? "learnt, on tensors that lie in the batches"
                                      : "the network has not learnt");
  return accuracy > 90.0;
}

int main(int count, char** words) try {
  if (count != 2) {
    std::fprintf(stderr, "usage: libtorch DIRECTORY\n");
    return 2;
  }
  const std::string directory = words[1];
  write_dataset(directory);
  torch::manual_seed(1);
  torch::set_num_threads(1);
#ifdef EXAMPLE_WITH_CUDA
  if (torch::cuda::is_available())
    return train<device_policies>(directory, torch::Device(torch::kCUDA, 0)) ? 0 : 1;
#endif
  return train<policies>(directory, torch::kCPU) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "libtorch: error: %s\n", e.what());
  return 1;
}
