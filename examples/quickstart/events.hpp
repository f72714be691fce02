#pragma once

/// What happened to a run from outside: kills, and on how many ranks it went on. Also which
/// processes carry it, for a test that kills them.

#include "places.hpp"

#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace quickstart {

struct event {
  std::uint64_t step;
  std::string text;

  bool operator==(const event&) const = default;
};

inline void add_event(const places& where, const std::string& run, const event& what) {
  std::ofstream(where.events(run), std::ios::app) << what.step << ' ' << what.text << '\n';
}

[[nodiscard]] inline std::vector<event> read_events(const places& where, const std::string& run) {
  std::ifstream file(where.events(run));
  std::vector<event> events;
  for (event next; file >> next.step && std::getline(file >> std::ws, next.text);) {
    events.push_back(next);
  }
  return events;
}

/// Adds this process to the run's list.
inline void note_process(const places& where, const std::string& run) {
  std::filesystem::create_directories(where.processes(run).parent_path());
  std::ofstream(where.processes(run), std::ios::app) << std::to_string(::getpid()) + '\n';
}

}  // namespace quickstart
