// libtorch DIRECTORY [STEPS]: trains a network of libtorch on batches that PyTorch reads where they
// lie, and goes on from the last checkpoint that it finds in DIRECTORY.
//
// A column becomes a tensor through DLPack, without a copy; the tensor keeps its batch alive. Where
// PyTorch was built with CUDA and there is a device, batches, network and optimizer lie on it. The
// dataset is written to DIRECTORY first: two spirals, to be told apart.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/interop/dlpack.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/mdstream.hpp>

#include <ATen/DLConvertor.h>
#include <torch/torch.h>

#ifdef EXAMPLE_WITH_CUDA
#include <c10/cuda/CUDAStream.h>
#include <mdstream/stage/cuda.hpp>
#include <mdstream/stage/cuda_copies.hpp>
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
#include <type_traits>
#include <utility>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<
    mds::schema<mds::column<"x", mds::ndarray<float, 2>>, mds::column<"label", mds::int_>>,
    mds::collate::dense>;
#ifdef EXAMPLE_WITH_CUDA
using device_policies = policies::with<mds::stage::cuda<3>>;
#endif

void write_dataset(const std::string& where) {
  mds::writer<policies> out(
      {.out = where, .size_limit = 16_KiB, .existing = mds::existing_dataset::replace});
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

/// What Adam knows of a parameter.
torch::optim::AdamParamState& state_of(torch::optim::Adam& optimizer, const torch::Tensor& of) {
  const auto find = [&](auto* key) -> auto& {
    if constexpr (requires { optimizer.state().at(key); })
      return *optimizer.state().at(key);
    else
      return *optimizer.state().at(c10::guts::to_string(key));  // PyTorch 1
  };
  return static_cast<torch::optim::AdamParamState&>(find(of.unsafeGetTensorImpl()));
}

/// The network and Adam's moments, where they lie.
mds::tensor_list tensors_of(const torch::nn::Sequential& network, torch::optim::Adam& optimizer) {
  mds::tensor_list out;
  const auto add = [&](const std::string& name, const torch::Tensor& tensor) {
    const auto sizes = tensor.sizes();
    out.add(name, mds::tensor_type::f32, {sizes.begin(), sizes.end()}, tensor.data_ptr());
  };
  for (const auto& each : network->named_parameters()) {
    add(each.key(), each.value());
    add(each.key() + ".exp_avg", state_of(optimizer, each.value()).exp_avg());
    add(each.key() + ".exp_avg_sq", state_of(optimizer, each.value()).exp_avg_sq());
  }
  return out;
}

/// Trains, and says whether the network has learnt.
template <class Policies>
bool train(const std::string& directory, torch::Device device, std::uint64_t steps) {
  using batch_type = typename mds::loader<Policies>::batch_type;
  torch::nn::Sequential network(torch::nn::Linear(2, 32), torch::nn::Tanh(),
                                torch::nn::Linear(32, 32), torch::nn::Tanh(),
                                torch::nn::Linear(32, 2));
  network->to(device);
  torch::optim::Adam optimizer(network->parameters(), 0.01);
  // Adam makes its moments in its first step: one with gradients of zero changes nothing else.
  for (torch::Tensor& each : network->parameters()) each.mutable_grad() = torch::zeros_like(each);
  optimizer.step();

  mds::loader<Policies> loader({.local = directory + "/data", .batch_size = 50, .seed = 2});
  const mds::tensor_list tensors = tensors_of(network, optimizer);
  mds::saver_options options{.run = mds::store::local(directory + "/checkpoints"),
                             .keep = {.last = 2}};
  mds::stage::stream_handle stream = nullptr;  // PyTorch's
#ifdef EXAMPLE_WITH_CUDA
  if (device.is_cuda()) {
    options.device = mds::stage::cuda_copies();
    stream = c10::cuda::getCurrentCUDAStream();
  }
#endif
  mds::checkpoint_saver saver(options);
  std::uint64_t step = 0;
  if (const auto last = saver.resume_point()) {
    last->load(tensors);
    loader.load_state(last->loader_state());
    step = last->step();
    std::printf("goes on from step %llu\n", static_cast<unsigned long long>(step));
  }
  for (const torch::Tensor& each : network->parameters())
    state_of(optimizer, each).step(static_cast<std::int64_t>(step));  // Adam counts them, too

  std::int64_t samples = 0, right = 0;  // of the last 40 steps
  while (step < steps) {
    for (auto& each : loader.epoch()) {
      // PyTorch's stream waits for the copy to the device, and the batch's memory for that stream.
      each.ready_on(stream);
      // The loop's batch is one object that the next step refills: tensors need one of their own.
      const auto batch = std::make_shared<const batch_type>(std::move(each));
      const torch::Tensor x = tensor_of(batch, batch->template get<"x">());  // float32 {50, 2}
      const torch::Tensor label = tensor_of(batch, batch->template get<"label">());  // int64 {50}
      const torch::Tensor scores = network->forward(x);
      const torch::Tensor loss = torch::nn::functional::cross_entropy(scores, label);
      optimizer.zero_grad();
      loss.backward();
      saver.wait_snapshot(stream);  // before the optimizer writes
      optimizer.step();
      ++step;
      if (step + 40 > steps) {
        right += (scores.argmax(1) == label).sum().template item<std::int64_t>();
        samples += x.size(0);
      }
      if (step % 40 == 0)
        std::printf("step %llu on %s: loss %.9g\n", static_cast<unsigned long long>(step),
                    device.str().c_str(), loss.template item<double>());
      if (step % 25 == 0) saver.save(step, tensors, {.loader_state = loader.state()}, stream);
      if (step == steps) break;
    }
  }
  saver.finish();
  const bool has_learnt = 10 * right > 9 * samples;
  std::printf("%s\n", has_learnt ? "learnt, on tensors that lie in the batches"
                                 : "the network has not learnt");
  return has_learnt;
}

int main(int count, char** words) try {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: libtorch DIRECTORY [STEPS]\n");
    return 2;
  }
  const std::string directory = words[1];
  const std::uint64_t steps = count == 3 ? std::stoull(words[2]) : 320;
  write_dataset(directory + "/data");
  torch::manual_seed(1);
  torch::set_num_threads(1);
#ifdef EXAMPLE_WITH_CUDA
  if (torch::cuda::is_available())
    return train<device_policies>(directory, torch::Device(torch::kCUDA, 0), steps) ? 0 : 1;
#endif
  return train<policies>(directory, torch::kCPU, steps) ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "libtorch: error: %s\n", e.what());
  return 1;
}
