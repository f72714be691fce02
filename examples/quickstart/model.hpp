#pragma once

/// A small byte-level language model: the last `context` bytes are looked up in one table for each
/// distance, the sum goes through two layers with a residual connection, a softmax over 256
/// follows. Forward and backward pass by hand, no framework.

#include "matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace quickstart {

inline constexpr std::size_t alphabet = 256;

/// Where the model's parts lie in one flat vector of parameters; gradients have the same layout.
/// `hidden` is a multiple of 32.
struct model_shape {
  std::size_t context = 16;
  std::size_t hidden = 128;

  [[nodiscard]] constexpr std::size_t table() const { return 0; }  // context x 256 x hidden
  [[nodiscard]] constexpr std::size_t bias() const { return context * alphabet * hidden; }
  [[nodiscard]] constexpr std::size_t inner() const { return bias() + hidden; }  // hidden x hidden
  [[nodiscard]] constexpr std::size_t inner_bias() const { return inner() + hidden * hidden; }
  [[nodiscard]] constexpr std::size_t output() const { return inner_bias() + hidden; }  // x 256
  [[nodiscard]] constexpr std::size_t output_bias() const { return output() + hidden * alphabet; }
  [[nodiscard]] constexpr std::size_t parameters() const { return output_bias() + alphabet; }
};

/// Parameters to begin with, the same for the same seed.
template <class Real = float>
[[nodiscard]] std::vector<Real> initial_parameters(const model_shape& shape, std::uint32_t seed) {
  std::vector<Real> values(shape.parameters(), Real{0});
  std::mt19937 random(seed);
  const auto fill = [&](std::size_t first, std::size_t count, double spread) {
    for (std::size_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(random()) / 4294967296.0;
      values[first + i] = static_cast<Real>((2.0 * unit - 1.0) * spread);
    }
  };
  const auto inputs = static_cast<double>(shape.hidden);
  fill(shape.table(), shape.context * alphabet * shape.hidden, 0.5 / std::sqrt(shape.context));
  fill(shape.inner(), shape.hidden * shape.hidden, std::sqrt(3.0 / inputs));
  fill(shape.output(), shape.hidden * alphabet, 0.3 * std::sqrt(3.0 / inputs));
  return values;
}

/// Runs the model over rows of bytes, one row at a time; holds only scratch memory. An object
/// serves one thread. Trained as float; as double the gradient can be checked by differences.
template <class Real = float>
class byte_model {
 public:
  explicit byte_model(const model_shape& shape) : shape_(shape) {}

  [[nodiscard]] const model_shape& shape() const { return shape_; }

  /// The sum over the row's bytes of -ln p(byte | the bytes before it in this row).
  [[nodiscard]] double loss(std::span<const Real> parameters, std::span<const std::uint8_t> row) {
    forward(parameters, row);
    return loss_and_softmax(row);
  }

  /// The same, and adds the gradient of that sum to `gradient`.
  double learn(std::span<const Real> parameters, std::span<const std::uint8_t> row,
               std::span<Real> gradient) {
    forward(parameters, row);
    const double sum = loss_and_softmax(row);
    backward(parameters, row, gradient);
    return sum;
  }

 private:
  // Row `p` of each matrix belongs to byte p; the number of rows is rounded up for the kernel, the
  // rest stays zero and so adds nothing.
  void resize(std::size_t bytes) {
    padded_ = (bytes + 15) / 16 * 16;
    for (auto* matrix : {&first_, &second_, &d_first_, &d_second_}) {
      matrix->assign(padded_ * shape_.hidden, Real{0});
    }
    logits_.assign(padded_ * alphabet, Real{0});
  }

  void forward(std::span<const Real> parameters, std::span<const std::uint8_t> row) {
    resize(row.size());
    const std::size_t hidden = shape_.hidden;
    for (std::size_t p = 0; p < row.size(); ++p) {
      Real* const out = &first_[p * hidden];
      std::copy_n(&parameters[shape_.bias()], hidden, out);
      for (std::size_t back = 0; back < shape_.context && back < p; ++back) {
        const Real* const entry = &parameters[table_entry(back, row[p - 1 - back])];
        for (std::size_t h = 0; h < hidden; ++h) out[h] += entry[h];
      }
      for (std::size_t h = 0; h < hidden; ++h) out[h] = std::max(out[h], Real{0});
      std::copy_n(&parameters[shape_.inner_bias()], hidden, &second_[p * hidden]);
      std::copy_n(&parameters[shape_.output_bias()], alphabet, &logits_[p * alphabet]);
    }
    multiply_add(first_.data(), &parameters[shape_.inner()], second_.data(), padded_, hidden,
                 hidden);
    for (std::size_t i = 0; i < row.size() * hidden; ++i) {
      second_[i] = std::max(second_[i], Real{0}) + first_[i];
    }
    multiply_add(second_.data(), &parameters[shape_.output()], logits_.data(), padded_, hidden,
                 alphabet);
  }

  // Turns the logits into p - [the byte that came], which is the loss's derivative by them.
  double loss_and_softmax(std::span<const std::uint8_t> row) {
    double sum = 0.0;
    for (std::size_t p = 0; p < row.size(); ++p) {
      Real* const logits = &logits_[p * alphabet];
      const Real highest = *std::max_element(logits, logits + alphabet);
      const Real chosen = logits[row[p]] - highest;
      Real total = Real{0};
      for (std::size_t i = 0; i < alphabet; ++i) {
        logits[i] = std::exp(logits[i] - highest);
        total += logits[i];
      }
      for (std::size_t i = 0; i < alphabet; ++i) logits[i] /= total;
      logits[row[p]] -= Real{1};
      sum += std::log(static_cast<double>(total)) - static_cast<double>(chosen);
    }
    std::fill(logits_.begin() + static_cast<std::ptrdiff_t>(row.size() * alphabet), logits_.end(),
              Real{0});
    return sum;
  }

  void backward(std::span<const Real> parameters, std::span<const std::uint8_t> row,
                std::span<Real> gradient) {
    const std::size_t hidden = shape_.hidden;
    dense_backward(second_, logits_, parameters, gradient, shape_.output(), shape_.output_bias(),
                   alphabet, d_second_);
    // The residual hands d_second on to the first layer; the second layer's own part stops where
    // its rectifier was off, which is where second == first.
    d_first_ = d_second_;
    for (std::size_t i = 0; i < second_.size(); ++i) {
      if (!(second_[i] > first_[i])) d_second_[i] = Real{0};
    }
    dense_backward(first_, d_second_, parameters, gradient, shape_.inner(), shape_.inner_bias(),
                   hidden, d_first_);
    for (std::size_t p = 0; p < row.size(); ++p) {
      Real* const d = &d_first_[p * hidden];
      for (std::size_t h = 0; h < hidden; ++h) {
        if (!(first_[p * hidden + h] > Real{0})) d[h] = Real{0};
      }
      for (std::size_t h = 0; h < hidden; ++h) gradient[shape_.bias() + h] += d[h];
      for (std::size_t back = 0; back < shape_.context && back < p; ++back) {
        Real* const entry = &gradient[table_entry(back, row[p - 1 - back])];
        for (std::size_t h = 0; h < hidden; ++h) entry[h] += d[h];
      }
    }
  }

  // Backward through out = in * W + b with d_out given: adds to W's and b's gradients and to d_in.
  void dense_backward(const std::vector<Real>& in, const std::vector<Real>& d_out,
                      std::span<const Real> parameters, std::span<Real> gradient,
                      std::size_t weights, std::size_t bias, std::size_t outputs,
                      std::vector<Real>& d_in) {
    const std::size_t hidden = shape_.hidden;
    scratch_.resize(std::max(padded_, outputs) * hidden);
    transpose(in.data(), scratch_.data(), padded_, hidden);
    multiply_add(scratch_.data(), d_out.data(), &gradient[weights], hidden, padded_, outputs);
    for (std::size_t p = 0; p < padded_; ++p) {
      for (std::size_t i = 0; i < outputs; ++i) gradient[bias + i] += d_out[p * outputs + i];
    }
    transpose(&parameters[weights], scratch_.data(), hidden, outputs);
    multiply_add(d_out.data(), scratch_.data(), d_in.data(), padded_, outputs, hidden);
  }

  [[nodiscard]] std::size_t table_entry(std::size_t back, std::uint8_t byte) const {
    return shape_.table() + (back * alphabet + byte) * shape_.hidden;
  }

  model_shape shape_;
  std::size_t padded_ = 0;
  std::vector<Real> first_, second_, logits_, d_first_, d_second_, scratch_;
};

}  // namespace quickstart
