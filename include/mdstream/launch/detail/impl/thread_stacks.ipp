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
#include <cstdint>
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
  std::atomic<pid_t> asked{0}, answered{0};
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

  [[nodiscard]] static pid_t this_thread() noexcept {
    return static_cast<pid_t>(::syscall(SYS_gettid));
  }

  static void take(int) {
    const int before = errno;
    if (instance().asked == this_thread()) {  // else it comes late, under another one's name
      write_own();
      instance().answered = this_thread();
      ::sem_post(&instance().written);
    }
    errno = before;
  }

  /// Whether the thread has written its stack. Others that were asked before may answer meanwhile.
  [[nodiscard]] bool wait_for(pid_t thread, std::chrono::nanoseconds most) noexcept {
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    const std::chrono::nanoseconds end = std::chrono::nanoseconds(until.tv_nsec) + most;
    until.tv_sec += end / std::chrono::seconds(1);
    until.tv_nsec = (end % std::chrono::seconds(1)).count();
    int status = 0;
    do status = ::sem_timedwait(&written, &until);
    while (status == 0 ? answered != thread : errno == EINTR);
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

MDSTREAM_INLINE void write_stacks(int descriptor, std::chrono::nanoseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  stack_writing& shared = stack_writing::instance();
  shared.descriptor = descriptor;
  ::sem_init(&shared.written, 0, 0);
  struct sigaction note{};
  note.sa_handler = &stack_writing::take;
  note.sa_flags = SA_RESTART | SA_ONSTACK;
  ::sigaction(stack_writing::signal, &note, nullptr);
  const pid_t own = stack_writing::this_thread();
  const std::vector<pid_t> threads = stack_writing::threads_of_process();
  auto not_asked = static_cast<std::int64_t>(threads.size());
  for (const pid_t thread : threads) {
    // A thread that answers leaves its share of the time to those after it.
    const std::chrono::nanoseconds share =
        std::max(until - std::chrono::steady_clock::now(), std::chrono::nanoseconds(0)) /
        not_asked--;
    write_text(descriptor, "thread " + std::to_string(thread) + " \"" +
                               stack_writing::line_of_task(thread, "comm") + "\"" +
                               (thread == own ? ", which writes this" : "") + ":\n");
    if (thread == own) {
      stack_writing::write_own();
      continue;
    }
    shared.asked = thread;
    if (::syscall(SYS_tgkill, ::getpid(), thread, stack_writing::signal) != 0) {
      write_text(descriptor, "  it has ended\n");
    } else if (!shared.wait_for(
                   thread, std::min<std::chrono::nanoseconds>(share, std::chrono::seconds(3)))) {
      write_text(descriptor, "  it does not answer; the kernel says: " +
                                 stack_writing::line_of_task(thread, "syscall") + ", " +
                                 stack_writing::line_of_task(thread, "wchan") + "\n");
    }
  }
}

}  // namespace mdstream::inline v0::launch::detail
