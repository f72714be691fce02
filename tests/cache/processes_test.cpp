// Several processes on one cache: one copy, one limit, killed at any time.

#include <mdstream/cache/detail/cache_directory.hpp>

#include <mdstream/store/local.hpp>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "cache/download_log.hpp"
#include "cache/fixture.hpp"
#include "cache/kill_dataset.hpp"
#include "support/catch.hpp"
#include "support/in_child.hpp"
#include "support/seed.hpp"

extern char** environ;

namespace processes_test {

using namespace cache_test;

/// A run of worker.cpp. Killed with its object if it still runs.
class process {
 public:
  process(std::vector<std::string> arguments, std::string output) : output_(std::move(output)) {
    // The last word is the name of a program beside this one.
    std::vector<std::string> command = {MDSTREAM_CACHE_WORKER};
    command.back() =
        std::filesystem::read_symlink("/proc/self/exe").replace_filename(command.back());
    arguments.insert(arguments.begin(), command.begin(), command.end());
    std::vector<char*> raw;
    for (std::string& each : arguments) raw.push_back(each.data());
    raw.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, 1, output_.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                       0666);
    ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
    const int failure = ::posix_spawnp(&pid_, raw[0], &actions, nullptr, raw.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) throw std::runtime_error("cannot run " + arguments[0]);
  }
  process(process&& other) noexcept
      : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}
  process& operator=(process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(output_, other.output_);
    return *this;
  }
  ~process() {
    if (pid_ > 0) kill();
  }

  void kill() {
    ::kill(pid_, SIGKILL);
    const int status = end();
    INFO(output());
    CHECK(support::was_killed_or_well(status));
  }
  [[nodiscard]] bool runs() const {
    siginfo_t ended{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0;
  }
  /// Returns when it does nothing until go_on(), or has ended.
  void stop() const {
    ::kill(pid_, SIGSTOP);
    siginfo_t stopped{};
    ::waitid(P_PID, static_cast<id_t>(pid_), &stopped, WSTOPPED | WEXITED | WNOWAIT);
  }
  void go_on() const { ::kill(pid_, SIGCONT); }
  /// The exit status; -1 when a signal ended it.
  int wait() {
    const int status = end();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  [[nodiscard]] std::string output() const {
    std::ostringstream text;
    text << std::ifstream(output_).rdbuf();
    return text.str();
  }

 private:
  int end() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return status;
  }

  pid_t pid_ = 0;
  std::string output_;
};

/// A remote directory with the dataset, a cache beside it, and what the workers said.
struct setting {
  scratch directory{};
  dataset data{kill_shape};
  std::string remote = directory / "remote";
  std::string root = directory / "cache";
  std::string log = directory / "downloads";
  int started = 0;

  setting() {
    data.put(mds::store::local(remote));
    (void)stream_of(data, root + "/train", std::nullopt);  // with its index
  }

  process start(std::uint64_t limit, unsigned seed, int rounds, bool keep_zip = false) {
    return process({root, remote, std::to_string(limit), std::to_string(seed),
                    std::to_string(rounds), keep_zip ? "1" : "0", log},
                   directory / ("worker-" + std::to_string(started++)));
  }

  [[nodiscard]] std::uint64_t limit_for(unsigned shards) const {
    return data.text().size() + shards * kill_shard_bytes;
  }

  /// After a clean process has come and gone, nothing but the shards is left, and the sum is right.
  void check_clean() {
    mds::runtime threads(1);
    auto stream = stream_of(data, root + "/train", mds::store::local(remote));
    cache shards(threads, options_of(root), {stream});
    CHECK(*shards.usage() == bytes_in(root));
    CHECK(fs::is_empty(root + "/.mdstream/tmp"));
    for (std::uint32_t i = 0; i < data.shards(); ++i) {
      const std::string raw = root + "/train/" + dataset::name(i, false);
      if (fs::exists(raw)) CHECK(data.is_right(i, read_file(raw)));
    }
    for (const std::string& name : files_in(root)) {
      CHECK(name.find("tmp") == std::string::npos);
    }
  }

  void check_remote() const {
    for (std::uint32_t i = 0; i < data.shards(); ++i) {
      CHECK(read_file(remote + '/' + dataset::name(i, true)) == data.zip(i));
    }
  }
};

std::pair<std::uint64_t, std::uint64_t> counts(const process& from) {
  std::istringstream text(from.output());
  std::uint64_t fetched = 0, evicted = 0;
  text >> fetched >> evicted;
  return {fetched, evicted};
}

/// Bytes beneath a directory, files in the making included. The workers stand still meanwhile: a
/// listing beside them has what was evicted under its eyes and what took its place.
std::uint64_t bytes_now(const std::string& directory, const std::vector<process>& workers) {
  for (const process& each : workers) each.stop();
  std::uint64_t sum = 0;
  for (const auto& each : fs::recursive_directory_iterator(directory)) {
    const std::string& path = each.path().native();
    const bool counts = path.find("/.mdstream/") == std::string::npos ||
                        path.find("/.mdstream/tmp/") != std::string::npos;
    if (counts && each.is_regular_file()) sum += each.file_size();
  }
  for (const process& each : workers) each.go_on();
  return sum;
}

TEST_CASE("eight processes on one cache fetch every shard once", "[cache][processes]") {
  setting fixture;
  std::vector<process> workers;
  for (unsigned i = 0; i < 8; ++i) workers.push_back(fixture.start(0, i, 200));
  std::uint64_t fetched = 0;
  for (process& each : workers) {
    const int status = each.wait();
    INFO(each.output());
    CHECK(status == 0);
    fetched += counts(each).first;
  }
  CHECK(fetched == kill_shape.shards);
  CHECK(download_counts(fixture.log).downloads == kill_shape.shards);
  fixture.check_clean();
}

TEST_CASE("processes keep the smallest limit of all that live", "[cache][processes]") {
  setting fixture;
  // Even the larger one is too small for all shards without their compressed files.
  const std::uint64_t small = fixture.limit_for(8), large = fixture.limit_for(12);
  std::uint64_t most = 0, evicted = 0;
  {
    mds::runtime threads(1);
    const auto stream =
        stream_of(fixture.data, fixture.root + "/train", mds::store::local(fixture.remote));
    const cache smallest(threads, options_of(fixture.root, small), {stream});
    std::vector<process> workers;
    for (unsigned i = 0; i < 3; ++i) {
      workers.push_back(fixture.start(i == 0 ? small : large, 100 + i, 300, i == 2));
    }
    while (std::ranges::any_of(workers, [](const process& each) { return each.runs(); })) {
      most = std::max(most, bytes_now(fixture.root, workers));
      std::this_thread::sleep_for(2ms);
    }
    for (process& each : workers) {
      const int status = each.wait();
      INFO(each.output());
      CHECK(status == 0);
      evicted += counts(each).second;
    }
  }
  CHECK(most > small / 2);
  CHECK(most <= small);
  CHECK(evicted > 0);
  CHECK(bytes_in(fixture.root) <= small);
  fixture.check_clean();
  fixture.check_remote();
}

/// A hundred in all, with a limit and without; MDSTREAM_LONG_TESTS in the environment: two
/// thousand.
int kills() { return std::getenv("MDSTREAM_LONG_TESTS") != nullptr ? 1000 : 50; }

TEST_CASE("processes killed at any time leave nothing to clean", "[cache][processes]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  setting fixture;
  const bool limited = GENERATE(true, false);
  const std::uint64_t limit = limited ? fixture.limit_for(20) : 0;
  const auto again = [&] {
    return fixture.start(limit, static_cast<unsigned>(random()), 100'000, limited);
  };
  std::vector<process> workers;
  std::size_t deleted = 0;
  for (int i = 0; i < 8; ++i) workers.push_back(again());
  for (int i = 0; i < kills(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 25));
    process& victim = workers[random() % workers.size()];
    victim.kill();
    const std::string said = victim.output();
    INFO(said);
    REQUIRE(said.empty());
    victim = again();
    if (!limited && i % 10 == 9)
      deleted += fs::remove_all(fixture.root + "/train/" + dataset::name(0, false));
  }
  for (process& each : workers) each.kill();
  for (const process& each : workers) CHECK(each.output().empty());
  if (limited) CHECK(bytes_in(fixture.root) <= limit);
  fixture.check_clean();
  fixture.check_remote();

  std::vector<process> last;  // and it all still works
  for (unsigned i = 0; i < 4; ++i) last.push_back(fixture.start(limit, i, 50, limited));
  for (process& each : last) {
    const int status = each.wait();
    INFO(each.output());
    CHECK(status == 0);
  }
  fixture.check_clean();
  if (limited) return;  // what was evicted is fetched again
  const download_counts counted(fixture.log);
  CHECK(counted.objects == kill_shape.shards);
  CHECK(counted.downloads <= kill_shape.shards + deleted + counted.cut_short);
}

}  // namespace processes_test
