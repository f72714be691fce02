#pragma once

#include <mdstream/launch/detail/thread_stacks.hpp>
#include <mdstream/version.hpp>

#include <dirent.h>
#include <execinfo.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::launch::detail {

/// What the thread that writes and the handlers of the others have in common.
struct stack_writing {
  static constexpr int signal = SIGURG;  // ignored where it is not handled

  std::atomic<int> descriptor{-1};
  sem_t written{};

  static stack_writing& instance() noexcept {
    static stack_writing only;
    return only;
  }

  static void write_own() noexcept {
    std::array<void*, 64> frames{};
    const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    ::backtrace_symbols_fd(frames.data(), count, instance().descriptor);
  }

  static void take(int) {
    const int before = errno;
    write_own();
    ::sem_post(&instance().written);
    errno = before;
  }

  [[nodiscard]] bool wait(std::chrono::seconds most) noexcept {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += most.count();
    int status = 0;
    do status = ::sem_timedwait(&written, &until);
    while (status != 0 && errno == EINTR);
    return status == 0;
  }

  [[nodiscard]] static std::vector<pid_t> threads_of_process() {
    std::vector<pid_t> out;
    DIR* const tasks = ::opendir("/proc/self/task");
    if (tasks == nullptr) return out;
    while (const dirent* const entry = ::readdir(tasks)) {
      const std::string_view name = entry->d_name;
      pid_t thread = 0;
      if (std::from_chars(name.data(), name.data() + name.size(), thread).ec == std::errc{})
        out.push_back(thread);
    }
    ::closedir(tasks);
    std::sort(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] static std::string line_of_task(pid_t thread, const char* file) {
    std::string line;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/" + file), line);
    return line;
  }
};

MDSTREAM_INLINE void write_text(int descriptor, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // there is nobody left to tell
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

MDSTREAM_INLINE void prepare_stacks() {
  std::array<void*, 1> none{};
  static_cast<void>(::backtrace(none.data(), 1));
}

MDSTREAM_INLINE void write_stacks(int descriptor) {
  stack_writing& shared = stack_writing::instance();
  shared.descriptor = descriptor;
  ::sem_init(&shared.written, 0, 0);
  struct sigaction note{};
  note.sa_handler = &stack_writing::take;
  note.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(stack_writing::signal, &note, nullptr);
  const auto own = static_cast<pid_t>(::syscall(SYS_gettid));
  for (const pid_t thread : stack_writing::threads_of_process()) {
    write_text(descriptor, "thread " + std::to_string(thread) + " \"" +
                               stack_writing::line_of_task(thread, "comm") + "\"" +
                               (thread == own ? ", which writes this" : "") + ":\n");
    if (thread == own) {
      stack_writing::write_own();
      continue;
    }
    if (::syscall(SYS_tgkill, ::getpid(), thread, stack_writing::signal) != 0) {
      write_text(descriptor, "  it has ended\n");
    } else if (!shared.wait(std::chrono::seconds(1))) {
      write_text(descriptor, "  it does not answer; the kernel says: " +
                                 stack_writing::line_of_task(thread, "syscall") + ", " +
                                 stack_writing::line_of_task(thread, "wchan") + "\n");
    }
  }
}

}  // namespace mdstream::inline v0::launch::detail
