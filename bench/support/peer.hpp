#pragma once

// Other programs as contenders: started once for a case, each takes its turn when it is told to.
// bench/peers/turns.py tells the protocol.

#include "support/harness.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/// A program that runs until this object goes, unless it is told to rest. Its stderr is ours.
class child_process {
 public:
  explicit child_process(const std::vector<std::string>& words) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe for a peer");
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      std::vector<char*> arguments;
      for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    setpgid(pid_, pid_);  // also here, so that it is a group before it is told to rest
    close(in[0]);
    close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
    if (pid_ < 0 || to_ == nullptr || from_ == nullptr)
      throw std::runtime_error("cannot start " + words.front());
  }
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  ~child_process() { static_cast<void>(wait_for_end()); }

  /// It ends with its input. Processor seconds that it took, as the kernel counted them: with what
  /// its end took, which it can not tell itself.
  double wait_for_end() {
    if (pid_ < 0) return cpu_s_;
    wake();
    std::fclose(to_);
    std::fclose(from_);
    rusage use{};
    if (wait4(pid_, nullptr, 0, &use) == pid_)
      cpu_s_ = seconds(use.ru_utime) + seconds(use.ru_stime);
    pid_ = -1;
    return cpu_s_;
  }

  /// Threads and worker processes that fetch ahead would take the processor from those whose turn
  /// it is.
  void rest() { kill(-pid_, SIGSTOP); }
  void wake() { kill(-pid_, SIGCONT); }

  void kill_now() { kill(-pid_, SIGKILL); }

  void tell(const char* line) {
    std::fprintf(to_, "%s\n", line);
    std::fflush(to_);
  }
  /// A line without its end; nothing more after the last.
  [[nodiscard]] std::string line() {
    char text[1024];
    if (std::fgets(text, sizeof text, from_) == nullptr) return {};
    std::string out(text);
    while (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
  }

 private:
  [[nodiscard]] static double seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  }

  pid_t pid_ = -1;
  double cpu_s_ = 0;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

/// What the peers of MDSTREAM_BENCH_PEERS can do of this case; that variable has a command a line,
/// `PROGRAM SCRIPT [WORD]`, to which benchmark, case and data directory are added.
inline std::vector<contender> peers_of(const std::string& bench, const std::string& name,
                                       const std::string& directory) {
  std::vector<contender> out;
  if (!is_wanted(name)) return out;
  const char* const commands = std::getenv("MDSTREAM_BENCH_PEERS");
  std::istringstream lines(commands == nullptr ? "" : commands);
  for (std::string command; std::getline(lines, command);) {
    std::istringstream in(command);
    std::string program, script, word;
    in >> program >> script >> word;
    std::vector<std::string> words{program, script, bench, name, directory};
    if (!word.empty()) words.push_back(word);
    const auto peer = std::make_shared<child_process>(words);
    const std::string ready = peer->line();
    if (!ready.starts_with("ready ")) continue;  // has no such case
    peer->rest();
    out.push_back(contender::measured(ready.substr(6), [peer, command] {
      peer->wake();
      peer->tell("go");
      std::istringstream answer(peer->line());
      peer->rest();
      turn taken;
      if (!(answer >> taken.units >> taken.seconds >> taken.cpu_s >> taken.resident_mb))
        throw std::runtime_error("a peer gave up: " + command);
      return taken;
    }));
  }
  return out;
}

}  // namespace bench
