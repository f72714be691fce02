// libtorch_data DIRECTORY [STEPS]: trains a model of libtorch in all processes that torchrun or
// mpirun starts, through torch::data, with a process group of PyTorch's. Run it again to continue,
// with another number of processes if need be. The dataset is written to DIRECTORY first.

#include <mdstream/launch/environment.hpp>

#include "stream_dataset.hpp"

#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mds = mdstream;
using namespace mds::literals;

using policies = mds::policies<
    mds::schema<mds::column<"x", mds::ndarray<float, 2>>, mds::column<"y", mds::ndarray<float, 1>>>,
    mds::collate::dense>;
using dataset = libtorch_data::stream_dataset<policies, "x", "y">;

/// y = 3 x0 - 2 x1 + 1.
static void write_dataset(const std::string& where) {
  mds::writer<policies> out(
      {.out = where, .size_limit = 16_KiB, .existing = mds::existing_dataset::replace});
  std::mt19937 random(5);
  const auto draw = [&] { return static_cast<float>(random() % 2001) / 1000 - 1; };
  for (int i = 0; i < 1920; ++i) {
    const std::array x{draw(), draw()};
    out.write(x, std::array{3 * x[0] - 2 * x[1] + 1});
  }
  out.finish();
}

/// torchrun names the address of a server, which rank 0 is unless torchrun itself runs one; other
/// processes meet in a file, whose name is that of this start.
static c10::intrusive_ptr<c10d::Store> meeting_place(const mds::world& world,
                                                     const std::string& directory) {
  if (world.num_ranks() == 1) return c10::make_intrusive<c10d::HashStore>();
  const char* const host = std::getenv("MASTER_ADDR");
  const char* const port = std::getenv("MASTER_PORT");
  if (host != nullptr && port != nullptr) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(std::stoi(port));
    const char* const agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
    options.isServer = world.rank == 0 && (agent == nullptr || std::string_view(agent) != "True");
    return c10::make_intrusive<c10d::TCPStore>(host, options);
  }
  std::string name = "start-" + mds::launch::token_from_environment(&std::getenv);
  std::ranges::replace(name, '/', '-');
  return c10::make_intrusive<c10d::FileStore>(directory + "/" + name,
                                              static_cast<int>(world.num_ranks()));
}

/// The processes of a run, and the sums of their tensors.
class process_group {
 public:
  process_group(const mds::world& world, const std::string& directory)
      : world_(world), group_(make(world, directory)) {}

  [[nodiscard]] bool leads() const { return world_.rank == 0; }
  void barrier() { group_->barrier()->wait(); }

  torch::Tensor sum(torch::Tensor of) {
    std::vector<torch::Tensor> tensors{std::move(of)};
    group_->allreduce(tensors)->wait();
    return tensors[0];
  }

 private:
  static c10::intrusive_ptr<c10d::ProcessGroupGloo> make(const mds::world& world,
                                                         const std::string& directory) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
    return c10::make_intrusive<c10d::ProcessGroupGloo>(
        meeting_place(world, directory), static_cast<int>(world.rank),
        static_cast<int>(world.num_ranks()), options);
  }

  mds::world world_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

/// Model, state of the data and step in one file of PyTorch's.
static void save(const std::string& path, const torch::nn::Linear& model, const dataset& data,
                 std::int64_t step) {
  torch::serialize::OutputArchive whole, of_model, of_data;
  model->save(of_model);
  data.save(of_data);
  whole.write("model", of_model);
  whole.write("data", of_data);
  whole.write("step", torch::IValue(step));
  whole.save_to(path + ".new");
  std::filesystem::rename(path + ".new", path);
}

static std::int64_t load(const std::string& path, torch::nn::Linear& model, dataset& data) {
  torch::serialize::InputArchive whole, of_model, of_data;
  whole.load_from(path);
  whole.read("model", of_model);
  whole.read("data", of_data);
  model->load(of_model);
  data.load(of_data);
  torch::IValue step;
  whole.read("step", step);
  return step.toInt();
}

static void train(const std::string& directory, std::int64_t steps) {
  constexpr std::uint64_t global_batch = 64;
  const mds::world world = mds::launch::from_environment(&std::getenv);
  process_group group(world, directory);
  if (group.leads()) write_dataset(directory + "/data");
  group.barrier();

  torch::manual_seed(1);  // the same model in every process
  torch::nn::Linear model(2, 1);
  torch::optim::SGD optimizer(model->parameters(), 0.3);
  dataset data(
      {.local = directory + "/data", .global_batch_size = global_batch, .seed = 2, .world = world});
  const std::string checkpoint = directory + "/checkpoint.pt";
  std::int64_t step = 0;
  if (std::filesystem::exists(checkpoint)) step = load(checkpoint, model, data);
  group.barrier();  // nobody writes the checkpoint before all have read it

  const auto batches = torch::data::make_data_loader(data, torch::data::DataLoaderOptions());
  while (step < steps) {
    for (const torch::data::Example<>& batch : *batches) {
      // The mean over the global batch, whatever the number of processes.
      const torch::Tensor loss =
          (model->forward(batch.data) - batch.target).square().sum() / double(global_batch);
      optimizer.zero_grad();
      loss.backward();
      for (torch::Tensor& each : model->parameters()) each.mutable_grad() = group.sum(each.grad());
      optimizer.step();
      ++step;
      // In thousandths, which are whole numbers: their sum does not depend on its order.
      const auto samples = group.sum((1000 * batch.target).round().to(torch::kLong).sum());
      const auto whole_loss = group.sum(loss.detach());
      if (group.leads() && step % 10 == 0)
        std::printf("step %lld: samples %lld, loss %.4f\n", static_cast<long long>(step),
                    static_cast<long long>(samples.item<std::int64_t>()),
                    whole_loss.item<double>());
      if (step == steps) break;
    }
  }
  if (group.leads()) save(checkpoint, model, data, step);
  // All models are equal where their mean is this one.
  const torch::Tensor mean = group.sum(model->weight.detach().clone()) / double(world.num_ranks());
  if (!torch::equal(mean, model->weight)) throw std::runtime_error("the processes' models differ");
  if (group.leads())
    std::printf("%lld processes have y = %.2f x0 %+.2f x1 %+.2f\n",
                static_cast<long long>(world.num_ranks()), model->weight[0][0].item<double>(),
                model->weight[0][1].item<double>(), model->bias[0].item<double>());
}

int main(int count, char** words) try {
  if (count != 2 && count != 3) {
    std::fprintf(stderr, "usage: libtorch_data DIRECTORY [STEPS]\n");
    return 2;
  }
  torch::set_num_threads(1);
  std::filesystem::create_directories(words[1]);
  train(words[1], count == 3 ? std::stoll(words[2]) : 60);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "libtorch_data: error: %s\n", e.what());
  return 1;
}
