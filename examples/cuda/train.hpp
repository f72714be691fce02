#pragma once

// What the host's compiler sees of the trainer that nvcc compiles.

#include <mdstream/batch.hpp>
#include <mdstream/checkpoint/tensor_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace cuda_quickstart {

struct training_options {
  std::size_t rows = 0;  // of a batch
  std::size_t row_bytes = 0;
  std::uint64_t steps = 0;
};

/// The model on the current device, and a stream for its steps.
class device_trainer {
 public:
  /// Throws std::runtime_error with CUDA's name of what failed.
  explicit device_trainer(const training_options& options);
  ~device_trainer();

  [[nodiscard]] mdstream::stage::stream_handle stream() const;
  /// Enqueues the gradient of a batch of full size, in memory of the device. Does not wait for it.
  void learn(const std::uint8_t* text);
  /// Enqueues the optimizer's step.
  void update();
  /// The number of the next step, from 0.
  void go_on_at(std::uint64_t step);
  /// What `update` writes, in memory of the device.
  [[nodiscard]] const mdstream::tensor_list& tensors() const;
  /// Waits, and returns the mean loss of the last step in nats a byte.
  [[nodiscard]] double loss() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace cuda_quickstart
