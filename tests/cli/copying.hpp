#pragma once

// Runs mdstream copy, and what its tests look at.

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/running.hpp"
#include "store/scratch.hpp"

namespace copying {

namespace fs = std::filesystem;
using cli_test::text_of;
using scratch_directory::scratch;

constexpr std::size_t mib = std::size_t{1} << 20;

inline void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; i += 4) {
    const auto word = random();
    std::memcpy(out.data() + i, &word, std::min<std::size_t>(4, size - i));
  }
  return out;
}

// Path to text, of every file beneath.
inline std::map<std::string, std::string> tree(const std::string& directory) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.is_regular_file()) {
      out[entry.path().lexically_relative(directory).string()] = text_of(entry.path().string());
    }
  }
  return out;
}

// Whether it becomes true within half a minute.
template <class F>
bool soon(F happened) {
  for (int i = 0; i < 3000 && !happened(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return happened();
}

struct outcome {
  int status = -1;           // of the exit; -1: a signal ended it
  std::size_t resident = 0;  // bytes, the most
  std::string out, err;
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out); }
};

// What a program shows that takes `inside` for its terminal.
class terminal {
 public:
  terminal() : outside_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    char name[64];
    REQUIRE(outside_ >= 0);
    REQUIRE(::grantpt(outside_) == 0);
    REQUIRE(::unlockpt(outside_) == 0);
    REQUIRE(::ptsname_r(outside_, name, sizeof name) == 0);
    inside_ = ::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() {
    ::close(inside_);
    ::close(outside_);
  }

  [[nodiscard]] int inside() const { return inside_; }

  // Whether it shows that soon.
  [[nodiscard]] bool shows(const std::string& text) {
    return soon([&] {
      pollfd ready{outside_, POLLIN, 0};
      if (::poll(&ready, 1, 10) > 0) {
        char some[256];
        const ssize_t got = ::read(outside_, some, sizeof some);
        if (got > 0) shown_.append(some, static_cast<std::size_t>(got));
      }
      return shown_.find(text) != std::string::npos;
    });
  }

 private:
  int outside_, inside_ = -1;
  std::string shown_;
};

// Of programs that use a fake S3.
template <class S3>
std::vector<std::string> environment(const S3& fake) {
  return {"S3_ENDPOINT_URL=" + fake.url(), "AWS_REGION=" + fake.region, "AWS_ACCESS_KEY_ID=AKFAKE",
          "AWS_SECRET_ACCESS_KEY=se/cret+of the fake"};
}

// `mdstream copy WORD...`, or another command, under way, with some variables of the environment.
class process {
 public:
  // Stderr goes to `err` where one is given.
  process(const std::vector<std::string>& environment, const std::vector<std::string>& words,
          int err = -1, const std::string& command = "copy",
          const std::string& program = MDSTREAM_CLI) {
    std::vector<std::string> all{"env"};
    all.insert(all.end(), environment.begin(), environment.end());
    all.insert(all.end(), {program, command});
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& each : all) argv.push_back(each.data());
    argv.push_back(nullptr);
    const std::string out = files_ / "out", errors = files_ / "err";
    int executed[2];
    if (::pipe2(executed, O_CLOEXEC) != 0) return;
    id_ = ::fork();
    if (id_ == 0) {
      ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), 1);
      ::dup2(err >= 0 ? err : ::open(errors.c_str(), O_WRONLY | O_CREAT, 0600), 2);
      ::execvp(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(executed[1]);
    char none = 0;
    while (::read(executed[0], &none, 1) < 0) {
    }  // ends when the new program has begun
    ::close(executed[0]);
  }
  process(const process&) = delete;
  process& operator=(const process&) = delete;
  ~process() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

  void signal(int number) const { ::kill(id_, number); }

  outcome wait() {
    const std::size_t resident = most_resident_until_end();
    int status = 0;
    ::waitpid(std::exchange(id_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, resident, text_of(files_ / "out"),
            text_of(files_ / "err")};
  }

 private:
  // wait4 would count what it was forked with, which is this program's.
  [[nodiscard]] std::size_t most_resident_until_end() const {
    const std::string status = "/proc/" + std::to_string(id_) + "/status";
    std::size_t most = 0;
    siginfo_t ended{};
    while (ended.si_pid == 0) {
      const std::string text = text_of(status);
      const std::size_t at = text.find("VmHWM:");
      if (at != std::string::npos) most = std::max(most, std::stoul(text.substr(at + 6)) * 1024);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (::waitid(P_PID, static_cast<id_t>(id_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) break;
    }
    return most;
  }

  const scratch files_;
  pid_t id_ = -1;
};

}  // namespace copying
