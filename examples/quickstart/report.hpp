#pragma once

/// `quickstart report`: the loss curve as a chart, and whether the model learnt what it had to.

#include "chart.hpp"
#include "places.hpp"
#include "run_log.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace quickstart {

/// The bigram table's held-out loss, as `prepare` measured it.
[[nodiscard]] inline double read_bigram_loss(const places& where) {
  std::ifstream file(where.bigram());
  double loss = 0.0;
  if (!(file >> loss)) {
    throw std::runtime_error("no prepared data in " + where.work.string() +
                             ": run 'quickstart prepare' first");
  }
  return loss;
}

/// The mean of this many steps is one point of the training curve.
inline constexpr std::size_t smoothing = 10;

[[nodiscard]] inline curve training_curve(const std::vector<log_entry>& log) {
  curve line{.name = "training batches", .colour = "#9ecae1", .points = {}};
  for (std::size_t first = 0; first + smoothing <= log.size(); first += smoothing) {
    double sum = 0.0;
    for (std::size_t i = 0; i < smoothing; ++i) sum += log[first + i].loss;
    line.points.emplace_back(static_cast<double>(first) + 0.5 * smoothing, sum / smoothing);
  }
  return line;
}

[[nodiscard]] inline curve held_out_curve(const std::vector<log_entry>& log) {
  curve line{.name = "held-out text", .colour = "#08519c", .points = {}, .width = 2.5};
  for (const log_entry& entry : log) {
    if (entry.held_out > 0.0) {
      line.points.emplace_back(static_cast<double>(entry.step + 1), entry.held_out);
    }
  }
  return line;
}

[[nodiscard]] inline double final_held_out(const std::vector<log_entry>& log) {
  const auto last = std::find_if(log.rbegin(), log.rend(),
                                 [](const log_entry& entry) { return entry.held_out > 0.0; });
  if (last == log.rend()) throw std::runtime_error("the run measured no held-out loss");
  return last->held_out;
}

/// Draws the run; throws std::runtime_error where its held-out loss is not well below the bigram
/// table's (by a tenth at least).
inline void report(const places& where, const std::string& run) {
  const std::vector<log_entry> log = read_log(where.log(run));
  const double bigram = read_bigram_loss(where), model = final_held_out(log);
  const double last_step = static_cast<double>(log.back().step + 1);
  chart drawing{.title = "A byte-level language model on a 0.7 / 0.3 mix of prose and code",
                .x_label = "training step (a global batch of 24 rows of 128 bytes)",
                .y_label = "loss, nats a byte",
                .curves = {training_curve(log), held_out_curve(log)}};
  drawing.curves.push_back({.name = "bigram table, held-out text",
                            .colour = "#d94801",
                            .points = {{0.0, bigram}, {last_step, bigram}},
                            .dashes = "6 4"});
  std::ofstream(where.chart()) << to_svg(drawing);
  std::printf("held-out loss: model %.3f, bigram table %.3f nats a byte (%.0f %% lower)\n", model,
              bigram, 100.0 * (1.0 - model / bigram));
  std::printf("loss curve: %s\n", where.chart().c_str());
  if (model > 0.9 * bigram) {
    throw std::runtime_error("the model is not well below the bigram table");
  }
}

}  // namespace quickstart
