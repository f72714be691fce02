#pragma once

#include <mdstream/net/detail/program.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>

namespace mdstream::inline v0::net::detail {

MDSTREAM_INLINE std::optional<std::string> find_program(const std::string& name,
                                                        std::string_view path) {
  const auto runs = [](const std::string& file) { return ::access(file.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    return runs(name) ? std::optional(name) : std::nullopt;
  }
  while (!path.empty()) {
    const std::size_t end = std::min(path.find(':'), path.size());
    const std::string file = std::string(path.substr(0, end)) + '/' + name;
    if (file.starts_with('/') && end != 0 && runs(file)) return file;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return std::nullopt;
}

MDSTREAM_INLINE error program_failed(const std::string& source, const std::string& why) {
  return {errc::permission_denied, source + ": " + why};
}

/// Both ends of a pipe, which no other program inherits.
class program_pipe {
 public:
  program_pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0)
      throw system_failure(errno, "cannot make a pipe", "");
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  program_pipe(const program_pipe&) = delete;
  program_pipe& operator=(const program_pipe&) = delete;
  ~program_pipe() {
    close(0);
    close(1);
  }

  [[nodiscard]] int read_end() const noexcept { return ends_[0]; }
  [[nodiscard]] int write_end() const noexcept { return ends_[1]; }
  void close_write_end() noexcept { close(1); }

  /// Appends what a full pipe holds, and closes at the end. What is beyond `most` is dropped, but
  /// for one byte by which it is seen.
  void read(std::string& into, std::size_t most) {
    std::array<char, 4096> block;
    for (int blocks = 0; blocks < 16 && ends_[0] >= 0; ++blocks) {
      const ssize_t got = ::read(ends_[0], block.data(), block.size());
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
      if (got <= 0) return close(0);
      const std::size_t room = most + 1 - std::min(into.size(), most + 1);
      into.append(block.data(), std::min(static_cast<std::size_t>(got), room));
    }
  }

 private:
  void close(std::size_t which) noexcept {
    if (ends_[which] >= 0) ::close(ends_[which]);
    ends_[which] = -1;
  }

  std::array<int, 2> ends_{-1, -1};
};

/// A program that runs in a process group of its own; it is killed where nobody waits for it.
class running_program {
 public:
  running_program(const program& what, const program_pipe& output, const program_pipe& errors,
                  const std::string& source) {
    std::vector<std::string> settings = variables_of(what);
    std::vector<std::string> words = what.words;
    std::vector<char*> argv = pointers(words), envp = pointers(settings);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, output.write_end(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, errors.write_end(), 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif  // elsewhere only those that were opened to be inherited are
    posix_spawnattr_t how;
    ::posix_spawnattr_init(&how);
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&how, &all);
    ::posix_spawnattr_setsigmask(&how, &none);
    ::posix_spawnattr_setpgroup(&how, 0);
    ::posix_spawnattr_setflags(
        &how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    const int failure = ::posix_spawn(&id_, argv[0], &actions, &how, argv.data(), envp.data());
    ::posix_spawnattr_destroy(&how);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
      id_ = -1;
      throw program_failed(source,
                           "it does not start: " + std::generic_category().message(failure));
    }
  }
  running_program(const running_program&) = delete;
  running_program& operator=(const running_program&) = delete;
  ~running_program() {
    if (id_ < 0) return;
    ::kill(-id_, SIGKILL);
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
  }

  /// Its status once it has ended. One that a handler of this process has waited for counts as 0.
  [[nodiscard]] std::optional<int> status() {
    int found = 0;
    const pid_t ended = ::waitpid(id_, &found, WNOHANG);
    if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
    id_ = -1;
    if (ended < 0) return 0;
    return WIFEXITED(found) ? WEXITSTATUS(found) : 128 + WTERMSIG(found);
  }

 private:
  static std::vector<std::string> variables_of(const program& what) {
    std::vector<std::string> out;
    for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
      const std::string_view text = *each;
      const bool replaced = std::ranges::any_of(what.variables, [&](const auto& one) {
        return text.starts_with(one.first) && text.substr(one.first.size()).starts_with('=');
      });
      if (!replaced) out.emplace_back(text);
    }
    for (const auto& [name, value] : what.variables) out.push_back(name + '=' + value);
    return out;
  }

  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& each : texts) out.push_back(each.data());
    out.push_back(nullptr);
    return out;
  }

  pid_t id_ = -1;
};

MDSTREAM_INLINE program_result run_program(const program& what, const std::string& source,
                                           const std::stop_token& stop) {
  constexpr std::size_t most = 64 * 1024;
  constexpr std::chrono::milliseconds look{50};  // at the program's end, which no pipe tells
  program_pipe output, errors;
  running_program runs(what, output, errors, source);
  output.close_write_end();
  errors.close_write_end();
  program_result out;
  const auto until = std::chrono::steady_clock::now() + what.most_time;
  while (true) {
    // A program of its own that goes on behind it may keep the pipes open: its end is enough.
    const std::optional<int> status = runs.status();
    output.read(out.output, most);
    errors.read(out.errors, most);
    if (out.output.size() > most) throw program_failed(source, "it prints more than 64 KiB");
    if (status) {
      out.status = *status;
      return out;
    }
    if (stop.stop_requested()) throw error(errc::canceled, source + ": the call was stopped");
    if (std::chrono::steady_clock::now() >= until) {
      throw program_failed(
          source, "it did not end within " + std::to_string(what.most_time.count() / 1000) + " s");
    }
    std::array<pollfd, 2> ends{pollfd{output.read_end(), POLLIN, 0},
                               pollfd{errors.read_end(), POLLIN, 0}};
    ::poll(ends.data(), ends.size(), static_cast<int>(look.count()));
  }
}

}  // namespace mdstream::inline v0::net::detail
