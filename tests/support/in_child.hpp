#pragma once

// What happens in a forked child.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <thread>

#include "support/catch.hpp"

namespace support {

/// Waits for a child; its exit status, or -1 for one that hangs or dies of a signal.
inline int status_of(pid_t child, std::chrono::seconds most = std::chrono::seconds(300)) {
  const auto until = std::chrono::steady_clock::now() + most;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Whether a child ended by SIGKILL, or before that by itself with 0, and not for another reason.
inline bool was_killed_or_well(int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0;
}

/// Forks; the child ends with what `body` returns, 99 for an exception.
template <class Body>
pid_t fork_child(const Body& body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child != 0) return child;
  int status = 99;
  try {
    status = body();
  } catch (...) {
  }
  ::_exit(status);
}

template <class Body>
int in_child(const Body& body) {
  return status_of(fork_child(body));
}

}  // namespace support
