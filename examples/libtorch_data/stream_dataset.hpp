#pragma once

/// An mdstream loader as a dataset of torch::data.

#include <mdstream/interop/dlpack.hpp>
#include <mdstream/mdstream.hpp>

#include <ATen/DLConvertor.h>
#include <torch/data.h>
#include <torch/serialize.h>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace libtorch_data {

namespace mds = mdstream;

/// Epochs, batches and state of a loader, as torch::data's StatefulDataset. An example is a whole
/// batch: the columns `Data` and `Target` as tensors that show the batch's own memory and keep it
/// alive. The loader knows rank and batch size, shuffles and reads ahead, so torch's data loader is
/// given no sampler and no workers, and its batch size is not looked at.
///
/// Lifetime: copies share the loader and its epoch: one goes into torch's data loader, the other
/// saves the state. Thread safety: one thread, as the loader. Errors: those of
/// `loader::epoch_type::next`, as exceptions out of torch's data loader. Cost: a copy of nothing;
/// an allocation for each batch.
///
///     stream_dataset<policies, "x", "y"> data({.remote = "s3://bucket/data", .batch_size = 32});
///     auto batches = torch::data::make_data_loader(data, torch::data::DataLoaderOptions());
///     for (auto& batch : *batches) train(batch.data, batch.target);
///     data.save(archive);
template <class Policies, mds::fixed_string Data, mds::fixed_string Target>
class stream_dataset
    : public torch::data::datasets::StatefulDataset<stream_dataset<Policies, Data, Target>,
                                                    torch::data::Example<>> {
 public:
  using loader_type = mds::loader<Policies>;
  using batch_type = typename loader_type::batch_type;

  explicit stream_dataset(const mds::loader_options& options)
      : stream_(std::make_shared<stream>(options)) {}

  /// Torch's data loader calls it where an epoch begins.
  void reset() override { stream_->epoch = stream_->loader.epoch(); }

  torch::optional<torch::data::Example<>> get_batch(std::size_t) override {
    auto batch = std::make_shared<batch_type>();
    if (!stream_->epoch.next(*batch)) return torch::nullopt;
    const std::shared_ptr<const batch_type> whole = std::move(batch);
    return torch::data::Example<>(tensor_of(whole, whole->template get<Data>()),
                                  tensor_of(whole, whole->template get<Target>()));
  }

  /// Batches of an epoch on this rank.
  torch::optional<std::size_t> size() const override { return stream_->loader.batches_per_epoch(); }

  void save(torch::serialize::OutputArchive& archive) const override {
    archive.write("loader_state", torch::IValue(stream_->loader.state()));
  }
  void load(torch::serialize::InputArchive& archive) override {
    torch::IValue state;
    archive.read("loader_state", state);
    stream_->loader.load_state(state.toStringRef());
  }

 private:
  template <class View>
  static torch::Tensor tensor_of(const std::shared_ptr<const batch_type>& batch,
                                 const View& column) {
    return at::fromDLPack(
        reinterpret_cast<DLManagedTensor*>(mds::dlpack::export_tensor(batch, column)));
  }

  struct stream {
    explicit stream(const mds::loader_options& options) : loader(options), epoch(loader.epoch()) {}

    loader_type loader;
    typename loader_type::epoch_type epoch;
  };

  std::shared_ptr<stream> stream_;
};

}  // namespace libtorch_data
