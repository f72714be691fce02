#pragma once

/// One line that says how the run goes: on a terminal it is written over, elsewhere now and then
/// a new one.

#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace quickstart {

/// How long the loop waited for data, beside the time it took.
class stopwatch {
 public:
  using clock = std::chrono::steady_clock;

  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(clock::now() - start_).count();
  }
  void stalled(clock::duration time) { stalled_ += time; }
  [[nodiscard]] double stall_seconds() const {
    return std::chrono::duration<double>(stalled_).count();
  }
  [[nodiscard]] double stall_percent() const {
    const double all = seconds();
    return all > 0.0 ? 100.0 * stall_seconds() / all : 0.0;
  }

 private:
  clock::time_point start_ = clock::now();
  clock::duration stalled_{};
};

struct progress {
  std::uint64_t step, steps, samples;
  double loss, held_out;  // nats a byte; held_out is the last that was measured, 0 before
};

[[nodiscard]] inline std::string progress_text(const progress& now, const stopwatch& watch) {
  char line[200], held_out[32] = "-";
  if (now.held_out > 0) std::snprintf(held_out, sizeof held_out, "%.3f", now.held_out);
  std::snprintf(
      line, sizeof line, "step %4llu/%llu  %6.0f samples/s  stall %4.1f %%  loss %.3f  held-out %s",
      static_cast<unsigned long long>(now.step), static_cast<unsigned long long>(now.steps),
      static_cast<double>(now.samples) / watch.seconds(), watch.stall_percent(), now.loss,
      held_out);
  return line;
}

class progress_line {
 public:
  /// Shows a step; `last` ends the line.
  void show(const progress& now, const stopwatch& watch, bool last) {
    const auto time = std::chrono::steady_clock::now();
    const auto pause = std::chrono::milliseconds(terminal_ ? 200 : 5000);
    if (!last && time - shown_ < pause) return;
    shown_ = time;
    std::fprintf(stderr, terminal_ ? "\r%s\033[K%s" : "%s%s", progress_text(now, watch).c_str(),
                 terminal_ && !last ? "" : "\n");
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) == 1;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace quickstart
