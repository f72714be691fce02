#pragma once

// A control group with a limit of memory, for what is to be measured where memory is short.

#include <mdstream/core/detail/kernel_files.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace bench {

/// Beneath a group of this process, or a parent of one, of version 1 or 2.
class memory_group {
 public:
  explicit memory_group(std::uint64_t bytes) {
    for (const std::string& parent : mdstream::detail::control_groups("")) {
      (void)write(parent + "/cgroup.subtree_control", "+memory");
      const std::string made = parent + "/mdstream-bench-" + std::to_string(::getpid());
      if (::mkdir(made.c_str(), 0755) != 0) continue;
      if (write(made + "/memory.max", std::to_string(bytes)) ||
          write(made + "/memory.limit_in_bytes", std::to_string(bytes))) {
        path_ = made;
        return;
      }
      ::rmdir(made.c_str());
    }
  }
  memory_group(const memory_group&) = delete;
  memory_group& operator=(const memory_group&) = delete;
  ~memory_group() {
    if (!path_.empty()) ::rmdir(path_.c_str());
  }

  /// Whether there is one: a process needs the right to make it.
  [[nodiscard]] explicit operator bool() const { return !path_.empty(); }

  /// What `work` returns in a child process in the group. Throws where that fails.
  template <class Work, class Result = std::invoke_result_t<Work>>
    requires std::is_trivially_copyable_v<Result>
  [[nodiscard]] Result run(const Work& work) const {
    int ends[2];
    if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
    const pid_t child = ::fork();
    if (child == 0) {
      if (!write(path_ + "/cgroup.procs", "0")) ::_exit(2);
      const Result got = work();
      ::_exit(::write(ends[1], &got, sizeof got) == sizeof got ? 0 : 3);
    }
    ::close(ends[1]);
    Result got{};
    const bool whole = ::read(ends[0], &got, sizeof got) == sizeof got;
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!whole || status != 0)
      throw std::runtime_error("the process in the memory group ended with status " +
                               std::to_string(status));
    return got;
  }

 private:
  [[nodiscard]] static bool write(const std::string& file, const std::string& text) {
    if (::access(file.c_str(), W_OK) != 0) return false;
    std::ofstream out(file);
    return static_cast<bool>(out << text << std::flush);
  }

  std::string path_;
};

}  // namespace bench
