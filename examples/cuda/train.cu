#include "byte_trainer.cuh"
#include "train.hpp"

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace cuda_quickstart {

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ": " +
                             cudaGetErrorString(status));
}

/// Numbers on the device, zeros to begin with.
class numbers {
 public:
  explicit numbers(std::size_t count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(float)), "cudaMalloc");
    check(cudaMemset(data_, 0, count * sizeof(float)), "cudaMemset");
  }
  numbers(const numbers&) = delete;
  numbers& operator=(const numbers&) = delete;
  ~numbers() { cudaFree(data_); }
  [[nodiscard]] float* data() const { return data_; }

 private:
  float* data_ = nullptr;
};

struct own_stream {
  own_stream() { check(cudaStreamCreate(&handle), "cudaStreamCreate"); }
  own_stream(const own_stream&) = delete;
  own_stream& operator=(const own_stream&) = delete;
  ~own_stream() { cudaStreamDestroy(handle); }
  cudaStream_t handle = nullptr;
};

}  // namespace

struct device_trainer::state {
  explicit state(const training_options& given)
      : options{.rate = 3e-3, .steps = given.steps},
        rates(0, options),
        bytes(given.rows * given.row_bytes),
        by(stream.handle),
        parameters(shape.parameters()),
        gradient(shape.parameters()),
        mean(shape.parameters()),
        square(shape.parameters()),
        first(bytes * shape.hidden),
        second(bytes * shape.hidden),
        d_first(bytes * shape.hidden),
        d_second(bytes * shape.hidden),
        logits(bytes * quickstart::alphabet),
        losses(bytes) {
    const std::vector<float> initial = quickstart::initial_parameters(shape, 1);
    check(cudaMemcpy(parameters.data(), initial.data(), initial.size() * sizeof(float),
                     cudaMemcpyHostToDevice),
          "cudaMemcpy");
    work = {.shape = shape,
            .rows = given.rows,
            .row_bytes = given.row_bytes,
            .parameters = parameters.data(),
            .gradient = gradient.data(),
            .first = first.data(),
            .second = second.data(),
            .logits = logits.data(),
            .d_first = d_first.data(),
            .d_second = d_second.data(),
            .losses = losses.data()};
    const auto add = [this](const char* name, const numbers& of) {
      tensors.add(name, mdstream::tensor_type::f32, {shape.parameters()}, of.data());
    };
    add("parameters", parameters);
    add("adam.mean", mean);
    add("adam.square", square);
  }

  model_shape shape{.context = 12, .hidden = 192};
  quickstart::adam_options options;
  quickstart::adam rates;
  std::size_t bytes;
  own_stream stream;
  products by;
  numbers parameters, gradient, mean, square, first, second, d_first, d_second, logits, losses;
  workspace work;
  mdstream::tensor_list tensors;
  std::uint64_t number = 0;
};

device_trainer::device_trainer(const training_options& options)
    : state_(std::make_unique<state>(options)) {}
device_trainer::~device_trainer() = default;

mdstream::stage::stream_handle device_trainer::stream() const { return state_->stream.handle; }

const mdstream::tensor_list& device_trainer::tensors() const { return state_->tensors; }
void device_trainer::go_on_at(std::uint64_t step) { state_->number = step; }

void device_trainer::learn(const std::uint8_t* text) {
  state& s = *state_;
  s.work.text = text;
  cuda_quickstart::learn(s.work, s.by, s.stream.handle);
}

void device_trainer::update() {
  state& s = *state_;
  cuda_quickstart::update(s.work, s.number++, s.rates, s.options, s.mean.data(), s.square.data(),
                          s.stream.handle);
}

double device_trainer::loss() const {
  std::vector<float> losses(state_->bytes);
  check(cudaMemcpyAsync(losses.data(), state_->losses.data(), losses.size() * sizeof(float),
                        cudaMemcpyDeviceToHost, state_->stream.handle),
        "cudaMemcpyAsync");
  check(cudaStreamSynchronize(state_->stream.handle), "cudaStreamSynchronize");
  double sum = 0;
  for (const float loss : losses) sum += loss;
  return sum / static_cast<double>(losses.size());
}

}  // namespace cuda_quickstart
