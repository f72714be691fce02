#pragma once

// The quickstart's model (../quickstart/model.hpp) on a device: a batch of rows of bytes in, one
// step of Adam. Element-wise work is named functors, the products are cuBLAS's.

#include <mdstream/cuda/execution.cuh>

#include "matrix_product.cuh"

#include "../quickstart/model.hpp"
#include "../quickstart/optimizer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cuda_quickstart {

namespace kernels = mdstream::kernels;
using quickstart::alphabet;
using quickstart::model_shape;

/// Adds to a number that other threads add to.
MDSTREAM_HOST_DEVICE inline void add_to(float* sum, float value) {
#if defined(__CUDA_ARCH__)
  atomicAdd(sum, value);
#else
  *sum += value;  // the test runs one thread
#endif
}

/// All that a step works on; matrices of a row for each byte of the batch.
struct workspace {
  model_shape shape;
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  const std::uint8_t* text = nullptr;
  float* parameters = nullptr;
  float* gradient = nullptr;
  float* first = nullptr;     // [bytes][hidden]
  float* second = nullptr;    // [bytes][hidden]
  float* logits = nullptr;    // [bytes][alphabet]; their derivative after `softmax`
  float* d_first = nullptr;   // [bytes][hidden]
  float* d_second = nullptr;  // [bytes][hidden]
  float* losses = nullptr;    // [bytes]

  [[nodiscard]] MDSTREAM_HOST_DEVICE std::size_t bytes() const { return rows * row_bytes; }
  /// The byte `back + 1` places before byte `n` of the batch, as an entry of the table; only where
  /// the row has one.
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::size_t entry(std::size_t n, std::size_t back) const {
    return (back * alphabet + text[n - 1 - back]) * shape.hidden;
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::size_t bytes_before(std::size_t n) const {
    const std::size_t place = n % row_bytes;
    return place < shape.context ? place : shape.context;
  }
};

/// first = max(0, bias + the entries of the bytes before).
struct embed {
  workspace w;
  const float* bias;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::size_t n = static_cast<std::size_t>(i) / w.shape.hidden;
    const std::size_t h = static_cast<std::size_t>(i) % w.shape.hidden;
    float sum = bias[h];
    for (std::size_t back = 0; back < w.bytes_before(n); ++back)
      sum += w.parameters[w.entry(n, back) + h];
    w.first[i] = sum > 0 ? sum : 0;
  }
};

/// second = max(0, second + bias) + first.
struct add_residual {
  workspace w;
  const float* bias;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::size_t h = static_cast<std::size_t>(i) % w.shape.hidden;
    const float sum = w.second[i] + bias[h];
    w.second[i] = (sum > 0 ? sum : 0) + w.first[i];
  }
};

/// The loss of one byte, and its derivative by the logits in their place.
struct softmax {
  workspace w;
  const float* bias;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t n) const {
    float* const logits = w.logits + static_cast<std::size_t>(n) * alphabet;
    float highest = logits[0] + bias[0];
    for (std::size_t k = 0; k < alphabet; ++k) {
      logits[k] += bias[k];
      highest = logits[k] > highest ? logits[k] : highest;
    }
    const float chosen = logits[w.text[n]] - highest;
    float total = 0;
    for (std::size_t k = 0; k < alphabet; ++k) total += logits[k] = expf(logits[k] - highest);
    for (std::size_t k = 0; k < alphabet; ++k) logits[k] /= total;
    logits[w.text[n]] -= 1;
    w.losses[n] = logf(total) - chosen;
  }
};

/// The residual hands the derivative on; the layer's own part stops where its rectifier was off.
struct split_residual {
  workspace w;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const {
    w.d_first[i] = w.d_second[i];
    if (!(w.second[i] > w.first[i])) w.d_second[i] = 0;
  }
};

/// Sums the columns of a matrix into a bias's gradient.
struct sum_columns {
  const float* matrix;
  std::size_t rows;
  std::size_t columns;
  float* sums;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t column) const {
    float sum = 0;
    for (std::size_t n = 0; n < rows; ++n)
      sum += matrix[n * columns + static_cast<std::size_t>(column)];
    sums[column] = sum;
  }
};

/// Back through `embed`, all but the bias.
struct embed_backward {
  workspace w;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::size_t n = static_cast<std::size_t>(i) / w.shape.hidden;
    const std::size_t h = static_cast<std::size_t>(i) % w.shape.hidden;
    if (!(w.first[i] > 0)) w.d_first[i] = 0;
    if (w.d_first[i] == 0) return;
    for (std::size_t back = 0; back < w.bytes_before(n); ++back)
      add_to(w.gradient + w.entry(n, back) + h, w.d_first[i]);
  }
};

struct clear {
  float* values;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const { values[i] = 0; }
};

/// One step of Adam; `scale` has the learning rate and both corrections of the beginning.
struct adam_update {
  const float* gradient;
  float gradient_scale;
  float scale, keep_mean, keep_square;
  float *parameters, *mean, *square;
  MDSTREAM_HOST_DEVICE void operator()(std::int64_t i) const {
    const float slope = gradient[i] * gradient_scale;
    mean[i] = keep_mean * mean[i] + (1 - keep_mean) * slope;
    square[i] = keep_square * square[i] + (1 - keep_square) * slope * slope;
    parameters[i] -= scale * mean[i] / (sqrtf(square[i]) + 1e-8F);
  }
};

/// Losses of all bytes, and the gradient of their sum. Waits for nothing.
inline void learn(const workspace& w, products& by, stream_handle stream) {
  const model_shape& s = w.shape;
  const auto n = static_cast<int>(w.bytes()), hidden = static_cast<int>(s.hidden);
  constexpr auto letters = static_cast<int>(alphabet);
  const float* const p = w.parameters;
  float* const g = w.gradient;
  const std::size_t cells = w.bytes() * s.hidden;

  kernels::for_each_index(stream, s.parameters(), clear{g});
  kernels::for_each_index(stream, cells, embed{w, p + s.bias()});
  by.multiply(form::as_is, form::as_is, n, hidden, hidden, w.first, p + s.inner(), 0, w.second);
  kernels::for_each_index(stream, cells, add_residual{w, p + s.inner_bias()});
  by.multiply(form::as_is, form::as_is, n, letters, hidden, w.second, p + s.output(), 0, w.logits);
  kernels::for_each_index(stream, w.bytes(), softmax{w, p + s.output_bias()});

  by.multiply(form::transposed, form::as_is, hidden, letters, n, w.second, w.logits, 0,
              g + s.output());
  kernels::for_each_index(stream, alphabet,
                          sum_columns{w.logits, w.bytes(), alphabet, g + s.output_bias()});
  by.multiply(form::as_is, form::transposed, n, hidden, letters, w.logits, p + s.output(), 0,
              w.d_second);
  kernels::for_each_index(stream, cells, split_residual{w});
  by.multiply(form::transposed, form::as_is, hidden, hidden, n, w.first, w.d_second, 0,
              g + s.inner());
  kernels::for_each_index(stream, s.hidden,
                          sum_columns{w.d_second, w.bytes(), s.hidden, g + s.inner_bias()});
  by.multiply(form::as_is, form::transposed, n, hidden, hidden, w.d_second, p + s.inner(), 1,
              w.d_first);
  kernels::for_each_index(stream, cells, embed_backward{w});
  kernels::for_each_index(stream, s.hidden,
                          sum_columns{w.d_first, w.bytes(), s.hidden, g + s.bias()});
}

/// Applies the gradient as step `number`, counted from 0.
inline void update(const workspace& w, std::uint64_t number, const quickstart::adam& rates,
                   const quickstart::adam_options& options, float* mean, float* square,
                   stream_handle stream) {
  const auto t = static_cast<double>(number + 1);
  const double mean_fill = 1.0 - std::pow(options.mean_decay, t);
  const double square_fill = 1.0 - std::pow(options.square_decay, t);
  kernels::for_each_index(
      stream, w.shape.parameters(),
      adam_update{
          .gradient = w.gradient,
          .gradient_scale = static_cast<float>(1.0 / static_cast<double>(w.bytes())),
          .scale = static_cast<float>(rates.rate(number) * std::sqrt(square_fill) / mean_fill),
          .keep_mean = options.mean_decay,
          .keep_square = options.square_decay,
          .parameters = w.parameters,
          .mean = mean,
          .square = square});
}

}  // namespace cuda_quickstart
