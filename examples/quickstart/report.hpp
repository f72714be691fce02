#pragma once

/// `quickstart report`: the loss curve as a chart, and whether the model learnt what it had to.

#include "chart.hpp"
#include "events.hpp"
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

/// Throws std::runtime_error unless both runs saw the same samples and had the same losses, step by
/// step and to the bit. Prints some of the digests side by side.
inline void require_equal(const std::string& a_name, const std::vector<log_entry>& a,
                          const std::string& b_name, const std::vector<log_entry>& b) {
  if (a.size() != b.size() || a.empty()) {
    throw std::runtime_error("runs of " + std::to_string(a.size()) + " and " +
                             std::to_string(b.size()) + " steps");
  }
  std::printf("%6s  %-18s %-18s %-12s %-12s\n", "step", (a_name + ": samples").c_str(),
              (b_name + ": samples").c_str(), "loss", "loss");
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i];
    if (!same || i % (a.size() / 8 + 1) == 0 || i + 1 == a.size()) {
      std::printf("%6llu  %016llx   %016llx   %.9f  %.9f  %s\n",
                  static_cast<unsigned long long>(a[i].step + 1),
                  static_cast<unsigned long long>(a[i].digest),
                  static_cast<unsigned long long>(b[i].digest), a[i].loss, b[i].loss,
                  same ? "equal" : "DIFFERENT");
    }
    if (!same)
      throw std::runtime_error("the runs differ from step " + std::to_string(i + 1) + " on");
  }
  std::printf("all %zu global batches held the same samples, all losses are equal to the bit\n",
              a.size());
}

inline void compare(const places& where, const std::string& run, const std::string& other) {
  require_equal(run, read_log(where.log(run)), other, read_log(where.log(other)));
}

/// Draws the run, and on top of it, with its kills, another that is to be equal. Throws
/// std::runtime_error where it is not, or where the held-out loss is not well below the bigram
/// table's (by a tenth at least).
inline void report(const places& where, const std::string& run, const std::string& other) {
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
  std::vector<log_entry> second;
  if (!other.empty()) {
    second = read_log(where.log(other));
    curve again = held_out_curve(second);
    again.name = "killed, moved and resumed";
    again.colour = "#fdae6b";
    again.width = 1.2;
    drawing.curves.push_back(again);
    for (const event& what : read_events(where, other)) {
      drawing.marks.push_back({static_cast<double>(what.step), what.text});
    }
  }
  std::ofstream(where.chart()) << to_svg(drawing);
  std::printf("held-out loss: model %.3f, bigram table %.3f nats a byte (%.0f %% lower)\n", model,
              bigram, 100.0 * (1.0 - model / bigram));
  std::printf("loss curve: %s\n", where.chart().c_str());
  if (!other.empty()) require_equal(run, log, other, second);
  if (model > 0.9 * bigram) {
    throw std::runtime_error("the model is not well below the bigram table");
  }
}

}  // namespace quickstart
