#pragma once

/// Adam, and what a training step hands on from one run to the next.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace quickstart {

struct adam_options {
  double rate = 3e-3;
  std::uint64_t warm_up = 20;  // steps until the rate is reached
  std::uint64_t steps = 1000;  // the rate falls along a cosine to a tenth by this step
  float mean_decay = 0.9F;
  float square_decay = 0.98F;
};

class adam {
 public:
  adam(std::size_t parameters, const adam_options& options)
      : options_(options), mean_(parameters), square_(parameters) {}

  /// The learning rate of step `step`, counted from 0.
  [[nodiscard]] double rate(std::uint64_t step) const {
    const double done = static_cast<double>(step) / static_cast<double>(options_.steps);
    const double cosine = 0.5 * (1.0 + std::cos(std::numbers::pi * std::min(done, 1.0)));
    const double warm = static_cast<double>(step + 1) / static_cast<double>(options_.warm_up);
    return options_.rate * std::min(warm, 1.0) * (0.1 + 0.9 * cosine);
  }

  /// Applies a gradient to parameters [first, first + gradient.size()) as step `step`. Ranges that
  /// do not overlap may be updated by different threads.
  void update(std::uint64_t step, std::size_t first, std::span<const float> gradient,
              std::span<float> parameters) {
    const auto t = static_cast<double>(step + 1);
    const double mean_fill = 1.0 - std::pow(options_.mean_decay, t);
    const double square_fill = 1.0 - std::pow(options_.square_decay, t);
    const auto scale = static_cast<float>(rate(step) * std::sqrt(square_fill) / mean_fill);
    const float keep_mean = options_.mean_decay, keep_square = options_.square_decay;
    const float* const slope = gradient.data();
    float* const mean = &mean_[first];
    float* const square = &square_[first];
    float* const out = &parameters[first];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      mean[i] = keep_mean * mean[i] + (1.0F - keep_mean) * slope[i];
      square[i] = keep_square * square[i] + (1.0F - keep_square) * slope[i] * slope[i];
      out[i] -= scale * mean[i] / (std::sqrt(square[i]) + 1e-8F);
    }
  }

  [[nodiscard]] std::vector<float>& mean() { return mean_; }
  [[nodiscard]] std::vector<float>& square() { return square_; }

 private:
  adam_options options_;
  std::vector<float> mean_, square_;
};

}  // namespace quickstart
