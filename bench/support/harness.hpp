#pragma once

// Runs the contenders of a case in turns, several times over, and prints one JSON line for each and
// a closing line of ratios. Machines are shared: only figures of one run are compared.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Work that was done once.
struct turn {
  double units = 0, seconds = 0, cpu_s = 0, resident_mb = 0;
};

struct figures {
  double median = 0, min = 0, max = 0;
  double cpu_s = 0;
};

inline double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

/// Resident memory of this process now, in MiB.
inline double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  statm >> total >> resident;
  return static_cast<double>(resident) * 4096 / (1 << 20);
}

/// Who takes turns at a case.
struct contender {
  std::string who;  // "mdstream", "limit:mmap", a peer's name
  std::function<turn()> take_turn;

  /// `work()` does the work once and returns how many units it did.
  template <class Work>
  contender(std::string name, Work work)
      : who(std::move(name)), take_turn([work]() mutable {
          const double cpu_before = cpu_seconds();
          const auto begin = std::chrono::steady_clock::now();
          const std::uint64_t units = work();
          const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
          return turn{static_cast<double>(units), wall.count(), cpu_seconds() - cpu_before,
                      resident_mb()};
        }) {}

  /// One that measures itself.
  static contender measured(std::string name, std::function<turn()> take_turn) {
    contender out(std::move(name), [] { return std::uint64_t{0}; });
    out.take_turn = std::move(take_turn);
    return out;
  }
};

inline figures summarise(std::vector<double> rates, double cpu_s) {
  std::ranges::sort(rates);
  return {
      .median = rates[rates.size() / 2], .min = rates.front(), .max = rates.back(), .cpu_s = cpu_s};
}

/// Whether a case is asked for: all are, or those whose names hold the text of MDSTREAM_BENCH_ONLY.
inline bool is_wanted(const std::string& name) {
  const char* const only = std::getenv("MDSTREAM_BENCH_ONLY");
  return only == nullptr || name.find(only) != std::string::npos;
}

/// Adds contenders that were made elsewhere.
inline std::vector<contender> with(std::vector<contender> own, std::vector<contender> more) {
  for (contender& each : more) own.push_back(std::move(each));
  return own;
}

/// Measures `contenders` in alternating turns and prints them. The first is what the ratios are of.
inline void run_case(const std::string& bench, const std::string& name, const std::string& unit,
                     std::vector<contender> contenders, int turns = 7) {
  if (!is_wanted(name)) return;
  for (contender& each : contenders) (void)each.take_turn();  // warm up: page cache, buffers
  std::vector<std::vector<double>> rates(contenders.size());
  std::vector<double> cpu(contenders.size()), resident(contenders.size());
  for (std::size_t round = 0; round < static_cast<std::size_t>(turns); ++round) {
    for (std::size_t k = 0; k < contenders.size(); ++k) {
      // Another begins each round: what the caches hold is left by who went before.
      const std::size_t i = (k + round) % contenders.size();
      const turn taken = contenders[i].take_turn();
      cpu[i] += taken.cpu_s / turns;
      resident[i] = taken.resident_mb;
      rates[i].push_back(taken.units / taken.seconds);
    }
  }
  std::string ratios;
  double first = 0;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    const figures f = summarise(rates[i], cpu[i]);
    std::printf(
        "{\"bench\":\"%s\",\"case\":\"%s\",\"who\":\"%s\",\"value\":%.4g,\"unit\":\"%s\",\"min\":%."
        "4g,"
        "\"max\":%.4g,\"cpu_s\":%.3f,\"rss_mb\":%.0f}\n",
        bench.c_str(), name.c_str(), contenders[i].who.c_str(), f.median, unit.c_str(), f.min,
        f.max, f.cpu_s, resident[i]);
    if (i == 0) {
      first = f.median;
      continue;
    }
    char ratio[160];
    std::snprintf(ratio, sizeof ratio, "%s\"%s\":%.3g", ratios.empty() ? "" : ",",
                  contenders[i].who.c_str(), first / f.median);
    ratios += ratio;
  }
  if (ratios.empty()) return;
  std::printf("{\"bench\":\"%s\",\"case\":\"%s\",\"ratio\":{%s}}\n", bench.c_str(), name.c_str(),
              ratios.c_str());
  std::fflush(stdout);
}

}  // namespace bench
