#pragma once

/// Threads that start, or an error that says what does not let them.

#include <mdstream/core/error.hpp>

#include <sys/resource.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace mdstream::inline v0::detail {

/// The first word of a file, empty if the file has none or cannot be read.
[[nodiscard]] std::string first_word(const std::string& path);

/// The smallest `pids.max` of this process's cgroup and the cgroups above it; empty if no limit is
/// set or readable.
[[nodiscard]] std::string most_tasks_of_cgroup();

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

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/start_thread.ipp>
#endif
