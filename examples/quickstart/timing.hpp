#pragma once

/// What a start of a run cost, when it did each step and saved, and where it waited for data: a
/// line of JSON each.

#include "places.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace quickstart {

[[nodiscard]] inline double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The phases of a start, in their order; seconds.
struct start_timing {
  double began = 0.0;       // of the Unix clock, when the ranks had met
  double open = 0.0;        // the loader; the held-out rows
  double checkpoint = 0.0;  // chosen and loaded
  double first_batch = 0.0;
};

class timing_log {
 public:
  timing_log(const places& where, const std::string& run) : path_(where.timing(run)) {
    std::filesystem::create_directories(path_.parent_path());
  }

  void start(const start_timing& took, std::uint64_t ranks, std::uint64_t step) const {
    char line[320];
    std::snprintf(line, sizeof line,
                  R"({"what": "start", "began": %.3f, "ranks": %llu, "step": %llu, "open": %.3f, )"
                  R"("checkpoint": %.3f, "first_batch": %.3f})",
                  took.began, static_cast<unsigned long long>(ranks),
                  static_cast<unsigned long long>(step), took.open, took.checkpoint,
                  took.first_batch);
    add(line);
  }

  /// `what` is `step`, of a step that is done, or `save`, of one that is saved.
  void note(const char* what, std::uint64_t step) const {
    char line[160];
    std::snprintf(line, sizeof line, R"({"what": "%s", "step": %llu, "at": %.3f})", what,
                  static_cast<unsigned long long>(step), unix_seconds());
    add(line);
  }

  void wait(std::uint64_t step, double seconds) const {
    char line[160];
    std::snprintf(line, sizeof line,
                  R"({"what": "wait", "step": %llu, "seconds": %.3f, "end": %.3f})",
                  static_cast<unsigned long long>(step), seconds, unix_seconds());
    add(line);
  }

 private:
  void add(const char* line) const { std::ofstream(path_, std::ios::app) << line << '\n'; }

  std::filesystem::path path_;
};

/// Seconds since the last call.
class lap_clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace quickstart
