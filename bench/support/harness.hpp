#pragma once

// Runs the contenders of a case in turns, several times over, and prints one JSON line for each and
// a closing line of ratios. Machines are shared: only figures of one run are compared.

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct contender {
  std::string who;                      // "mdstream", "limit:mmap", a peer's name
  std::function<std::uint64_t()> work;  // does the work once, returns how many units it did
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

inline figures summarise(std::vector<double> rates, double cpu_s) {
  std::ranges::sort(rates);
  return {
      .median = rates[rates.size() / 2], .min = rates.front(), .max = rates.back(), .cpu_s = cpu_s};
}

/// Measures `contenders` in alternating turns and prints them. The first is what the ratios are of.
inline void run_case(const std::string& bench, const std::string& name, const std::string& unit,
                     std::vector<contender> contenders, int turns = 7) {
  for (auto& contender : contenders) contender.work();  // warm up: page cache, buffers
  std::vector<std::vector<double>> rates(contenders.size());
  std::vector<double> cpu(contenders.size());
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      const double cpu_before = cpu_seconds();
      const auto begin = std::chrono::steady_clock::now();
      const std::uint64_t units = contenders[i].work();
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
      cpu[i] += (cpu_seconds() - cpu_before) / turns;
      rates[i].push_back(static_cast<double>(units) / wall.count());
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
        f.max, f.cpu_s, resident_mb());
    if (i == 0) {
      first = f.median;
      continue;
    }
    char ratio[128];
    std::snprintf(ratio, sizeof ratio, "%s\"%s\":%.3g", ratios.empty() ? "" : ",",
                  contenders[i].who.c_str(), first / f.median);
    ratios += ratio;
  }
  std::printf("{\"bench\":\"%s\",\"case\":\"%s\",\"ratio\":{%s}}\n", bench.c_str(), name.c_str(),
              ratios.c_str());
  std::fflush(stdout);
}

}  // namespace bench
