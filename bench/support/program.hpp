#pragma once

// A program that is run to its end: what it took, as the kernel counted it.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// Seconds of the clock and of processors, and the most memory that the program, or one that it
/// started, held.
struct program_cost {
  double seconds = 0, cpu_s = 0, resident_mb = 0;
};

/// Runs `words`, without output but that on stderr. Throws where the program fails.
inline program_cost run_program(const std::vector<std::string>& words) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t process = fork();
  if (process == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = -1;
  rusage use{};
  if (process < 0 || wait4(process, &status, 0, &use) != process || status != 0) {
    throw std::runtime_error("this program failed: " + words.front());
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {wall.count(), seconds(use.ru_utime) + seconds(use.ru_stime),
          static_cast<double>(use.ru_maxrss) / 1024};
}

}  // namespace bench
