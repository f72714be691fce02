// A training run of eight processes through more trouble than weeks bring: two streams from a real
// S3 server and an emulator of Google Cloud Storage, behind lines that fail most requests,
// one cache directory with a limit on a disk that is full now and then, processes that are killed
// and stopped. Every byte of every batch is checked, the digest of every global batch is that of an
// undisturbed run, and what is fetched again has a reason. Run by tests/servers/with.sh.
//
// MDSTREAM_TEST_SEED: the faults of this seed. MDSTREAM_LONG_TESTS: 100,000 faults, not 2,000;
// MDSTREAM_SOAK_FAULTS: so many.

#include <mdstream/launch/environment.hpp>
#include <mdstream/stream/state.hpp>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "s3/server.hpp"
#include "soak/bad_line.hpp"
#include "soak/data.hpp"
#include "soak/small_disk.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

extern char** environ;

namespace soak {

using steady = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Epoch and number of a batch in one.
using position = std::uint64_t;
/// Of each global batch: how many samples were counted, and the sum of their numbers.
struct global_sum {
  int ranks = 0;
  std::uint64_t sum = 0;
};
using sums = std::map<position, global_sum>;

struct setting {
  std::string bucket{}, gs{}, cache{}, limit{}, errors{};
  std::string s3_line{}, gs_line{};
};

/// A rank of the run, in a process that comes and goes.
class rank {
 public:
  rank(const setting& fixture, int number) : fixture_(&fixture), number_(number) { start(); }
  rank(rank&& other) = delete;
  ~rank() {
    if (pid_ > 0) kill();
  }

  /// May read one more batch.
  void grant() {
    ++granted_;
    (void)!::write(to_, "+", 1);  // one that is killed just now starts again, with its grants
  }
  [[nodiscard]] position done() const { return done_; }
  [[nodiscard]] position granted() const { return done_ + granted_; }
  [[nodiscard]] int output() const { return from_; }
  [[nodiscard]] std::string tell() const {
    return std::to_string(done_) + " (process " + std::to_string(pid_) + ')';
  }
  [[nodiscard]] bool stopped() const { return stopped_until_.has_value(); }
  [[nodiscard]] std::size_t refused() const { return refused_; }
  /// Ends that a full disk has had a process come to at its start.
  [[nodiscard]] std::size_t not_started() const { return not_started_; }

  void kill() {
    ::kill(pid_, SIGKILL);
    (void)wait();
  }
  /// What it said before it was killed counts; it starts behind that. A full disk may have ended it
  /// before.
  void kill_and_restart(sums& all) {
    ::kill(pid_, SIGKILL);
    drain(all);
    const int status = wait();
    INFO(errors());
    REQUIRE((status == -SIGKILL || status == 3));
    start();
  }
  void stop_for(milliseconds time) {
    ::kill(pid_, SIGSTOP);
    stopped_until_ = steady::now() + time;
  }
  void wake() {
    if (!stopped_until_ || steady::now() < *stopped_until_) return;
    ::kill(pid_, SIGCONT);
    stopped_until_.reset();
  }

  /// Reads what it says; where it has ended, it must have been a full disk, and it starts again.
  void listen(sums& all) {
    if (read_some(all)) return;
    const int status = wait();
    INFO(errors());
    REQUIRE(status == 3);
    ++not_started_;
    start();
  }
  /// Ends by itself when nothing is left to do.
  void finish() {
    ::close(std::exchange(to_, -1));
    const int status = wait();
    INFO(errors());
    CHECK(status == 0);
  }

 private:
  void start() {
    stopped_until_.reset();
    line_.clear();
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
      throw std::runtime_error("no pipe");
    std::vector<std::string> words{
        MDSTREAM_SOAK_WORKER, fixture_->bucket,        fixture_->gs, fixture_->cache,
        fixture_->limit,      std::to_string(number_), state_};
    std::vector<std::string> variables{"S3_ENDPOINT_URL=" + fixture_->s3_line,
                                       "STORAGE_EMULATOR_HOST=" + fixture_->gs_line};
    for (char** each = environ; *each != nullptr; ++each) {
      const std::string text = *each;
      if (!text.starts_with("S3_ENDPOINT_URL=") && !text.starts_with("STORAGE_EMULATOR_HOST="))
        variables.push_back(text);
    }
    const auto pointers = [](std::vector<std::string>& from) {
      std::vector<char*> all;
      for (std::string& text : from) all.push_back(text.data());
      all.push_back(nullptr);
      return all;
    };
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, fixture_->errors.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0666);
    const int failure = ::posix_spawn(&pid_, words[0].c_str(), &actions, nullptr,
                                      pointers(words).data(), pointers(variables).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (failure != 0) throw std::runtime_error("cannot run " + words[0]);
    for (std::uint64_t i = std::exchange(granted_, 0); i > 0; --i) grant();
  }

  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    if (to_ >= 0) ::close(to_);
    ::close(from_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  void drain(sums& all) {
    while (read_some(all)) {
    }
  }
  // False at the end of what it says.
  bool read_some(sums& all) {
    char buffer[16384];
    const ssize_t got = ::read(from_, buffer, sizeof buffer);
    if (got <= 0) return false;
    line_.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = line_.find('\n')) != std::string::npos;) {
      take(line_.substr(0, end), all);
      line_.erase(0, end + 1);
    }
    return true;
  }
  void take(const std::string& line, sums& all) {
    if (line == "full") {
      ++refused_;
      return;
    }
    std::istringstream words(line);
    std::uint64_t epoch = 0, number = 0, sum = 0;
    words >> epoch >> number >> sum >> std::ws;
    std::getline(words, state_);
    INFO("rank " << number_ << ": " << line);
    REQUIRE(epoch * batches_in_epoch + number == done_);
    ++done_;
    --granted_;
    global_sum& batch = all[done_ - 1];
    ++batch.ranks;
    batch.sum += sum;
  }

  [[nodiscard]] std::string errors() const {
    std::ostringstream text;
    text << std::ifstream(fixture_->errors).rdbuf();
    return text.str();
  }

  const setting* fixture_;
  int number_;
  pid_t pid_ = 0;
  int to_ = -1, from_ = -1;
  std::string line_{}, state_ = "-";
  position done_ = 0;
  std::uint64_t granted_ = 0;
  std::optional<steady::time_point> stopped_until_{};
  std::size_t refused_ = 0, not_started_ = 0;
};

std::size_t faults_wanted() {
  if (const char* given = std::getenv("MDSTREAM_SOAK_FAULTS")) return std::stoul(given);
  return std::getenv("MDSTREAM_LONG_TESTS") != nullptr ? 100'000 : 2'000;
}

/// The whole run and all that happens to it.
class run {
 public:
  run(const setting& fixture, small_disk& disk, bad_line& s3, bad_line& gs, unsigned seed)
      : disk_(disk), s3_(s3), gs_(gs), random_(seed) {
    for (int i = 0; i < ranks; ++i) all_.push_back(std::make_unique<rank>(fixture, i));
  }

  /// Until there were so many faults, and then to the end of the epoch without further ones.
  void go_on(std::size_t faults) {
    while (this->faults() < faults) {
      step(~position{0}, true);
      tell();
    }
    s3_.mend();
    gs_.mend();
    if (full_until_) disk_.empty();
    full_until_.reset();
    position most = 0;
    for (const auto& each : all_) most = std::max(most, each->granted());
    const position end = (most + batches_in_epoch - 1) / batches_in_epoch * batches_in_epoch;
    while (slowest() < end) {
      step(end, false);
      tell();
    }
    for (const auto& each : all_) each->finish();
    disk_.count();
  }

  [[nodiscard]] std::size_t faults() const {
    return s3_.faults() + gs_.faults() + kills_ + stops_ + fills_;
  }
  [[nodiscard]] const sums& batches() const { return batches_; }
  [[nodiscard]] std::size_t kills() const { return kills_; }
  [[nodiscard]] std::size_t stops() const { return stops_; }
  [[nodiscard]] std::size_t fills() const { return fills_; }
  [[nodiscard]] std::size_t refused() const {
    std::size_t sum = 0;
    for (const auto& each : all_) sum += each->refused() + each->not_started();
    return sum;
  }

 private:
  /// How far each rank is, twice a minute.
  void tell() {
    if (steady::now() < tell_at_) return;
    tell_at_ = steady::now() + std::chrono::seconds(30);
    std::string text;
    for (const auto& each : all_) text += ' ' + each->tell();
    std::fprintf(stderr, "soak: %zu faults; batches of the ranks:%s\n", faults(), text.c_str());
  }

  /// Ranks go on together, as a training does, four batches apart at most.
  void step(position end, bool trouble) {
    for (const auto& each : all_) {
      each->wake();
      while (each->granted() < std::min(slowest() + 4, end)) each->grant();
    }
    std::vector<pollfd> wait;
    for (const auto& each : all_) wait.push_back({each->output(), POLLIN, 0});
    ::poll(wait.data(), wait.size(), 20);
    for (std::size_t i = 0; i < wait.size(); ++i)
      if (wait[i].revents != 0) all_[i]->listen(batches_);
    disk_.count();
    if (full_until_ && steady::now() > *full_until_) {
      disk_.empty();
      full_until_.reset();
    }
    if (trouble) make_trouble();
  }

  // Of a hundred faults three are kills, three stops, and one is a full disk, each at some moment.
  void make_trouble() {
    const std::size_t now = s3_.faults() + gs_.faults();
    for (; met_ < now; ++met_) {
      const std::uint64_t chance = random_() % 100;
      rank& victim = *all_[random_() % all_.size()];
      if (chance < 3) {
        victim.kill_and_restart(batches_);
        ++kills_;
      } else if (chance < 6) {
        if (victim.stopped()) continue;
        victim.stop_for(milliseconds(random_() % 700));
        ++stops_;
      } else if (chance < 7) {
        if (full_until_) continue;
        disk_.fill();
        full_until_ = steady::now() + milliseconds(random_() % 1000);
        ++fills_;
      }
    }
  }

  [[nodiscard]] position slowest() const {
    position out = ~position{0};
    for (const auto& each : all_) out = std::min(out, each->done());
    return out;
  }

  small_disk& disk_;
  bad_line &s3_, &gs_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<rank>> all_;
  sums batches_;
  std::size_t met_ = 0, kills_ = 0, stops_ = 0, fills_ = 0;
  std::optional<steady::time_point> full_until_;
  steady::time_point tell_at_ = steady::now() + std::chrono::seconds(30);
};

struct undisturbed_run {
  sums batches;
  std::set<std::filesystem::path> ahead;  // shards that the next epoch may prefetch
};

/// One process with all samples, straight from the servers, with room for all.
undisturbed_run undisturbed(const setting& fixture, const std::string& local, position end) {
  auto options = options_of(fixture.bucket, fixture.gs);
  options.local = local;
  options.world = mds::world{};
  const std::uint64_t window = ranks * *options.predownload + global_batch;
  loader data(std::move(options));
  undisturbed_run out;
  for (position at = 0; at < end;) {
    for (const auto& batch : data.epoch()) out.batches[at++] = {ranks, digest_of(batch)};
  }
  const auto streams = data.streams();
  std::uint64_t samples = 0;
  for (const auto& batch : data.epoch()) {
    for (const std::int64_t id : batch.ids()) {
      const auto from = data.origin(id);
      char name[32];
      std::snprintf(name, sizeof name, "shard.%05u.mds", from.shard);
      out.ahead.insert(std::filesystem::path(streams[from.stream].directory).filename() / name);
    }
    if ((samples += batch.size()) >= window) break;
  }
  return out;
}

TEST_CASE("a run among faults has the batches of an undisturbed one, and fetches nothing twice") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  constexpr std::uint64_t limit = 3'300'000;
  small_disk disk(2 * limit);
  const scratch_directory::scratch other;
  mds::runtime threads(2);
  setting fixture{.bucket = real_server::new_bucket(threads) + "/soak",
                  .gs = "gs://test/soak-" + std::to_string(::getpid()),
                  .cache = disk / "cache",
                  .limit = std::to_string(limit),
                  .errors = other / "errors"};
  write(fixture.bucket, 0, samples_in_bucket, "");
  write(fixture.gs, samples_in_bucket, samples_in_gs, "zstd:3");
  (void)undisturbed(fixture, other / "undisturbed", batches_in_epoch);
  std::size_t shards = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(other / "undisturbed"))
    shards += entry.path().extension() == ".mds" ? 1 : 0;

  bad_line s3(real_server::variable("S3_ENDPOINT_URL"), seed);
  bad_line gs(real_server::variable("STORAGE_EMULATOR_HOST"), seed + 1);
  fixture.s3_line = s3.url();
  fixture.gs_line = gs.url();
  for (const auto& entry : std::filesystem::directory_iterator(other / "undisturbed"))
    if (entry.is_directory() && entry.path().filename() != ".mdstream")
      disk.watch(std::filesystem::path(fixture.cache) / entry.path().filename());
  const auto from = steady::now();
  run trained(fixture, disk, s3, gs, seed + 2);
  trained.go_on(faults_wanted());
  const auto took = std::chrono::duration_cast<std::chrono::seconds>(steady::now() - from);

  const position end = trained.batches().rbegin()->first + 1;
  const undisturbed_run expected = undisturbed(fixture, other / "undisturbed", end);
  REQUIRE(trained.batches().size() == expected.batches.size());
  for (const auto& [at, batch] : trained.batches()) {
    INFO("epoch " << at / batches_in_epoch << ", batch " << at % batches_in_epoch);
    CHECK(batch.ranks == ranks);
    CHECK(batch.sum == expected.batches.at(at).sum);
  }
  // Nothing came twice in an epoch, but what only a killed process still needed and the others
  // evicted. What the next epoch reads first may have been prefetched for it.
  const std::size_t good = s3.good_ends() + gs.good_ends(), epochs = end / batches_in_epoch;
  std::size_t came = 0, came_ahead = 0;
  for (const auto& [shard, count] : disk.came())
    (expected.ahead.contains(shard) ? came_ahead : came) += count;
  CHECK(came <= epochs * (shards - expected.ahead.size()) + 2 * trained.kills());
  CHECK(came_ahead <= (epochs + 1) * expected.ahead.size() + 2 * trained.kills());
  came += came_ahead;
  // Hardly a shard that was sent whole did not come: one for each process that was killed, and
  // those that a full disk refused.
  CHECK(good <= came + trained.kills() + ranks * trained.fills());
  CHECK(s3.percent() + gs.percent() > 2 * 60);
  CHECK(trained.kills() > 0);
  CHECK(trained.stops() > 0);
  CHECK(trained.fills() > 0);  // 20 of them refuse 2 to 10 writes, by chance perhaps none
  std::printf(
      "soak: %zu faults in %lld s: at the S3 server %s; at the GCS server %s; %zu kills, %zu "
      "stops, "
      "%zu full disks (%zu refusals); %u and %u of a hundred requests failed; %zu epochs of %zu "
      "shards, %zu came, %zu of them of %zu that the next epoch may prefetch, %zu went, %zu whole "
      "answers, seed %u\n",
      trained.faults(), static_cast<long long>(took.count()), s3.counts().c_str(),
      gs.counts().c_str(), trained.kills(), trained.stops(), trained.fills(), trained.refused(),
      s3.percent(), gs.percent(), epochs, shards, came, came_ahead, expected.ahead.size(),
      disk.gone(), good, seed);
}

}  // namespace soak
