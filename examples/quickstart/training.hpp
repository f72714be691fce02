#pragma once

/// A training step whose result does not depend on how many processes share it, to the bit.
///
/// The rows of a global batch have canonical positions 0, 1, 2, …; rank r of R holds those with
/// position % R == r. Gradients are summed by groups of positions modulo 12, in the order of the
/// positions, and the groups' sums one after another. Of 1, 2, 3, 4, 6 or 12 ranks each holds whole
/// groups, so every sum has the same terms in the same order in each of these worlds.

#include "model.hpp"
#include "optimizer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace quickstart {

inline constexpr std::size_t groups = 12;

/// How processes hand each other what they computed. `share(values)` is called by all of them with
/// `groups` equal blocks in `values`; block g is filled on rank g % ranks, and afterwards
/// everywhere. `broadcast(text)` leaves on all what rank 0 has.
struct alone {
  [[nodiscard]] static std::size_t rank() { return 0; }
  [[nodiscard]] static std::size_t ranks() { return 1; }
  template <class T>
  static void share(std::span<T>) {}
  static void broadcast(std::string&) {}
};

/// Calls f(0), …, f(count - 1) on threads of their own, or on this one where that is the only one.
template <class F>
void in_parallel(std::size_t count, F&& f) {
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < count; ++i) others.emplace_back([&f, i] { f(i); });
  f(0);
}

template <class Exchange>
class trainer {
 public:
  /// `rows` in a global batch, over all ranks; a multiple of `groups`.
  trainer(const model_shape& shape, const adam_options& options, Exchange& exchange,
          std::size_t threads)
      : shape_(shape),
        exchange_(exchange),
        models_(std::max<std::size_t>(threads, 1), byte_model<>(shape)),
        parameters_(initial_parameters(shape, 1)),
        optimizer_(shape.parameters(), options),
        gradients_(groups * shape.parameters()) {
    if (groups % exchange.ranks() != 0) {
      throw std::invalid_argument("sums are canonical on 1, 2, 3, 4, 6 or 12 ranks, not on " +
                                  std::to_string(exchange.ranks()));
    }
  }

  /// One step with this rank's rows of the global batch, in their order. `rows(i)` gives row i;
  /// `before_update` is called when parameters and optimizer are about to be written. Returns the
  /// mean loss of the global batch in nats a byte.
  template <class Rows, class Hook>
  double step(std::uint64_t number, std::size_t count, Rows&& rows, Hook&& before_update) {
    const double sum = sum_over_groups(
        count, rows,
        [&](byte_model<>& model, std::size_t group, std::span<const std::uint8_t> row) {
          return model.learn(parameters_, row, gradient(group));
        });
    exchange_.share(std::span<float>(gradients_));
    const double bytes = static_cast<double>(count * exchange_.ranks() * rows(0).size());
    before_update();
    in_parallel(models_.size(), [&](std::size_t thread) { update(number, thread, bytes); });
    return sum / bytes;
  }

  /// Mean loss of rows that all ranks hold, each evaluating its part; nothing is learnt.
  template <class Rows>
  double evaluate(std::size_t count, Rows&& rows) {
    const std::size_t ranks = exchange_.ranks();
    const std::size_t part = count / groups * groups / ranks;
    const auto of_this_rank = [&](std::size_t i) { return rows(i * ranks + exchange_.rank()); };
    const double sum =
        sum_over_groups(part, of_this_rank,
                        [&](byte_model<>& model, std::size_t, std::span<const std::uint8_t> row) {
                          return model.loss(parameters_, row);
                        });
    return sum / static_cast<double>(part * ranks * rows(0).size());
  }

  [[nodiscard]] std::vector<float>& parameters() { return parameters_; }
  [[nodiscard]] adam& optimizer() { return optimizer_; }

 private:
  [[nodiscard]] std::span<float> gradient(std::size_t group) {
    return std::span<float>(gradients_).subspan(group * shape_.parameters(), shape_.parameters());
  }

  // Runs `visit` over this rank's rows, a group at a time, several groups at once; returns the sum
  // of its results over all ranks.
  template <class Rows, class Visit>
  double sum_over_groups(std::size_t count, Rows&& rows, Visit&& visit) {
    std::array<double, groups> sums{};
    const std::size_t ranks = exchange_.ranks(), own = groups / ranks;
    in_parallel(models_.size(), [&](std::size_t thread) {
      for (std::size_t i = thread; i < own; i += models_.size()) {
        const std::size_t group = i * ranks + exchange_.rank();
        std::ranges::fill(gradient(group), 0.0F);
        for (std::size_t row = i; row < count; row += own) {
          sums[group] += visit(models_[thread], group, rows(row));
        }
      }
    });
    exchange_.share(std::span<double>(sums));
    double sum = 0.0;
    for (const double part : sums) sum += part;
    return sum;
  }

  // Sums the groups' gradients over one thread's range of parameters and updates these.
  void update(std::uint64_t number, std::size_t thread, double bytes) {
    const std::size_t all = shape_.parameters(), threads = models_.size();
    const std::size_t first = all * thread / threads, last = all * (thread + 1) / threads;
    const auto scale = static_cast<float>(1.0 / bytes);
    float* const total = gradient(0).data();
    for (std::size_t group = 1; group < groups; ++group) {
      const float* const part = gradient(group).data();
      for (std::size_t i = first; i < last; ++i) total[i] += part[i];
    }
    for (std::size_t i = first; i < last; ++i) total[i] *= scale;
    optimizer_.update(number, first, gradient(0).subspan(first, last - first), parameters_);
  }

  model_shape shape_;
  Exchange& exchange_;
  std::vector<byte_model<>> models_;
  std::vector<float> parameters_;
  adam optimizer_;
  std::vector<float> gradients_;
};

}  // namespace quickstart
