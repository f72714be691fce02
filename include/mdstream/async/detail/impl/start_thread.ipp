#pragma once

#include <mdstream/async/detail/start_thread.hpp>
#include <mdstream/version.hpp>

#include <fstream>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::string first_word(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

MDSTREAM_INLINE std::string most_tasks_of_cgroup() {
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

}  // namespace mdstream::inline v0::detail
