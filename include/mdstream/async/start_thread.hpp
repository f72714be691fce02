#pragma once

/// Threads that start, or an error that says what does not let them.

#include <mdstream/core/error.hpp>

#include <sys/resource.h>

#include <fstream>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace mdstream::inline v0::detail {

/// The first word of a file; empty where there is none.
[[nodiscard]] inline std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

/// The smallest `pids.max` of the cgroup that this process is in and those above it; empty where
/// none is set, or none can be seen.
[[nodiscard]] inline std::string most_tasks_of_cgroup() {
  std::ifstream lines("/proc/self/cgroup");
  std::string line, smallest;
  while (std::getline(lines, line)) {  // 0::/path, or 8:pids:/path
    const std::size_t controllers = line.find(':') + 1;
    const std::size_t path = line.find(':', controllers) + 1;
    if (controllers == 0 || path == 0) continue;
    const std::string which = line.substr(controllers, path - 1 - controllers);
    if (!which.empty() && which != "pids") continue;
    for (std::string at = line.substr(path); !at.empty(); at.resize(at.rfind('/'))) {
      const std::string found = first_word("/sys/fs/cgroup/" + which + at + "/pids.max");
      const bool is_number = !found.empty() && found != "max";
      if (is_number && (smallest.empty() || std::stoull(found) < std::stoull(smallest)))
        smallest = found;
    }
  }
  return smallest;
}

/// Runs `work` on a new thread. Throws `errc::unavailable`, naming the limits of the system, where
/// none can be started.
template <class Work>
[[nodiscard]] std::thread start_thread(Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& e) {
    std::string limits = "limits: ";
    struct rlimit tasks{};
    if (::getrlimit(RLIMIT_NPROC, &tasks) == 0 && tasks.rlim_cur != RLIM_INFINITY)
      limits += "ulimit -u is " + std::to_string(tasks.rlim_cur) + ", ";
    if (const std::string most = most_tasks_of_cgroup(); !most.empty())
      limits += "pids.max of the cgroup is " + most + ", ";
    limits += "kernel.threads-max is " + first_word("/proc/sys/kernel/threads-max");
    throw error(errc::unavailable, "cannot start a thread: " + e.code().message() + " (" + limits +
                                       "); raise the limit, or ask for fewer threads");
  }
}

}  // namespace mdstream::inline v0::detail
