// Runs in a bucket: of the fake, or of the real server that tests/servers/with.sh started.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/s3.hpp>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "checkpoint/launches.hpp"
#include "s3/server.hpp"
#include "s3/with_fake.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace checkpoint_s3_test {

namespace mds = mdstream;
using launches::launch;
using launches::options_on;
using mds::store::s3;
using training::cut;
using training::model;
using namespace std::chrono_literals;

/// Where a bucket is, for other processes, too.
struct bucket_address {
  std::string url, endpoint, region;  // no endpoint: the real server's, of the environment

  [[nodiscard]] mds::opened_store open(mds::runtime& threads) const {
    mds::store::s3_options options;
    if (!endpoint.empty()) {
      options = with_fake::options_for(endpoint, region);
      options.part_bytes = 20'000;
    }
    return s3(threads, url, options);
  }
};

/// A new bucket. Files of more than a few bytes go in parts where the server takes such.
class bucket {
 public:
  bucket() {
    if (real_server::name().empty()) {
      fake_ = std::make_unique<fake_s3::server>();
      address_ = {fake_->s3_url("run"), fake_->url(), fake_->region};
    } else {
      mds::runtime threads(1);
      address_.url = real_server::new_bucket(threads) + "/run";
    }
  }
  [[nodiscard]] const bucket_address& address() const { return address_; }
  [[nodiscard]] mds::opened_store open(mds::runtime& threads) const {
    return address_.open(threads);
  }
  [[nodiscard]] fake_s3::server* fake() const { return fake_.get(); }

 private:
  std::unique_ptr<fake_s3::server> fake_;
  bucket_address address_;
};

constexpr int superseded = 98;

/// Goes on from what is there, which has to be no older than `last`, and saves until it is killed;
/// writes each step that is complete to `reports`. Its exit status.
int save_for_ever(const bucket_address& address, std::uint64_t last, int reports) {
  try {
    mds::runtime threads(1);
    mds::saver_options options = options_on(address.open(threads));
    options.memory.value = 700'000;
    options.on_saved = [&](const std::exception_ptr& failure, const mds::saved_checkpoint& what) {
      const std::uint64_t step = what.step;
      if (!failure) (void)!::write(reports, &step, sizeof step);
    };
    mds::checkpoint_saver saver(options);
    model mine(0, 1, cut::rows);
    std::uint64_t step = 0;
    if (const auto found = saver.resume_point()) {
      step = found->step();
      found->load(mine.list());
      if (!mine.difference(step).empty()) return 1;
    }
    if (step < last) return 2;
    while (true) {
      mine.set(++step);
      saver.save(step, mine.list());
      saver.wait_snapshot();
    }
  } catch (const mds::error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    if (e.code() == mds::errc::superseded) return superseded;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
  }
  return 99;
}

/// A process that waits until it is told where to save. It is forked before there is any other
/// thread: a child has the locks of libraries as they were, and nobody to release them.
class saving_process {
 public:
  saving_process() {
    int begin[2], reports[2];
    REQUIRE(::pipe(begin) == 0);
    REQUIRE(::pipe(reports) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::string text(4096, '\0');
      const ssize_t got = ::read(begin[0], text.data(), text.size());
      text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      std::istringstream words(text);
      std::uint64_t last = 0;
      bucket_address address;
      words >> last >> address.url >> address.endpoint >> address.region;
      ::_exit(save_for_ever(address, last, reports[1]));
    }
    ::close(begin[0]);
    ::close(reports[1]);
    begin_ = begin[1];
    reports_ = reports[0];
  }
  saving_process(const saving_process&) = delete;
  saving_process& operator=(const saving_process&) = delete;
  ~saving_process() {
    ::kill(process_, SIGKILL);
    (void)status();
    ::close(begin_);
    ::close(reports_);
  }

  void begin(const bucket_address& address, std::uint64_t last) const {
    const std::string text =
        std::to_string(last) + ' ' + address.url + ' ' + address.endpoint + ' ' + address.region;
    REQUIRE(::write(begin_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  /// Waits for the next step that is complete; false once the process has ended.
  [[nodiscard]] bool wait_step(std::uint64_t& step) const {
    return ::read(reports_, &step, sizeof step) == sizeof step;
  }
  void kill() const { ::kill(process_, SIGKILL); }
  [[nodiscard]] int status() {
    if (!ended_) ended_ = ::waitpid(process_, &status_, 0) == process_;
    return status_;
  }

 private:
  pid_t process_ = -1;
  int begin_ = -1, reports_ = -1, status_ = 0;
  bool ended_ = false;
};

}  // namespace checkpoint_s3_test

using namespace checkpoint_s3_test;

TEST_CASE("a run in a bucket moves from 1 to 3 to 2 ranks and stays equal to the bit", "[s3]") {
  const bucket remote;
  mds::runtime threads(1);
  const mds::opened_store run = remote.open(threads);
  CHECK(launch(run, "a", 1, cut::rows, {}, {1, 2}) == "");
  CHECK(launch(run, "b", 3, cut::columns, 2, {3}) == "");
  CHECK(launch(run, "c", 2, cut::rows, 3, {4}) == "");
  CHECK(launch(run, "d", 1, cut::whole, 4, {}) == "");
  CHECK(mds::checkpoint::list(run).size() == 4);
  CHECK(mds::checkpoint::open(run, "3").verify().empty());
  if (remote.fake() == nullptr) {
    SUCCEED("a real server does not tell its requests");
    return;
  }
  std::size_t in_parts = 0, created = 0;
  for (const auto& each : remote.fake()->requests()) {
    in_parts += each.target.find("partNumber") != std::string::npos ? 1U : 0U;
    if (each.header("if-none-match") != "*") continue;
    const bool is_manifest = each.target.find("/manifest/") != std::string::npos;
    CHECK((is_manifest || each.target.find("/tokens/") != std::string::npos));
    created += is_manifest ? 1U : 0U;
  }
  CHECK(in_parts > 50);
  CHECK(created == 4);
  CHECK(remote.fake()->uploads() == 0);
}

TEST_CASE("a full load fetches each block once; a newest of many costs few requests", "[s3]") {
  const bucket remote;
  if (remote.fake() == nullptr) {
    SUCCEED("only the scripted server counts requests");
    return;
  }
  mds::runtime threads(1);
  const mds::opened_store run = remote.open(threads);
  CHECK(launch(run, "a", 2, cut::rows, {}, {1, 2, 3}) == "");
  const std::size_t before = remote.fake()->requests().size();
  const auto last = mds::checkpoint::open(run);
  const std::size_t opened = remote.fake()->requests().size();
  // Starts, manifests, the last start, what is bad, manifest, layout, files.
  CHECK(opened - before == 7);
  model whole(0, 1, cut::rows);
  last.load(whole.list());
  CHECK(whole.difference(3) == "");
  const auto files = run.list("data/");
  std::size_t of_last = 0;
  for (const auto& each : files)
    if (each.key.ends_with(".safetensors") && mds::detail::save_of_data(each.key)->step == 3)
      ++of_last;
  CHECK(remote.fake()->requests().size() - opened - 1 == of_last);
}

TEST_CASE("a server that refuses for a while is waited for; a lost answer makes no second manifest",
          "[s3]") {
  const bucket remote;
  if (remote.fake() == nullptr) {
    SUCCEED("only the scripted server counts requests");
    return;
  }
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  auto random = std::make_shared<std::mt19937_64>(seed);
  int others = 0, refused = 0, lost = 0, conflicts = 0;
  remote.fake()->instead = [&others, &refused, &conflicts, random](
                               const fake_s3::question& asked) -> std::optional<fake_s3::answer> {
    // Another request about this key is under way, it says.
    if (asked.raw.header("if-none-match") == "*" && conflicts < 3) {
      ++conflicts;
      return fake_s3::refusal(409, "ConditionalRequestConflict");
    }
    if ((*random)() % 25 != 0 && ++others != 10) return std::nullopt;
    ++refused;
    return fake_s3::refusal(503, "SlowDown");
  };
  // The manifest is written, and the server says that it failed.
  remote.fake()->afterwards = [&lost](const fake_s3::question& asked, fake_s3::answer& out) {
    if (asked.raw.header("if-none-match") != "*" || out.status != 200) return;
    ++lost;
    out = fake_s3::refusal(500, "InternalError");
  };
  mds::runtime threads(1);
  const mds::opened_store run = remote.open(threads);
  CHECK(launch(run, "a", 2, cut::rows, {}, {1}) == "");
  CHECK(launch(run, "b", 1, cut::columns, 1, {2}) == "");
  CHECK(refused > 0);
  CHECK(conflicts == 3);
  CHECK(lost == 4);  // two tokens, two manifests
  CHECK(mds::checkpoint::list(run).size() == 2);
}

TEST_CASE("processes that are killed while they save to a bucket lose nothing that was complete",
          "[s3]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::array<saving_process, 16> processes;  // as many may be overtaken as are killed
  const bucket remote;
  std::uint64_t last = 0;
  int killed = 0, overtaken = 0;
  for (saving_process& process : processes) {
    if (killed == 8) break;
    process.begin(remote.address(), last);
    // Killed at any point behind some of its saves.
    const auto saves = random() % 3 + (killed == 0 ? 1 : 0);  // so that there is something to lose
    for (std::uint64_t i = 0; i < saves; ++i)
      if (!process.wait_step(last)) break;
    // Only where it is in its next save depends on this; what is checked holds at any point.
    ::usleep(static_cast<useconds_t>(random() % 60'000));
    process.kill();
    while (process.wait_step(last)) {
    }
    INFO("after " << killed << " that were killed, status " << process.status());
    const int status = process.status();
    // What a killed process has sent may arrive late, as the start that the next one gives way to.
    if (WIFEXITED(status) && WEXITSTATUS(status) == superseded && ++overtaken <= killed) continue;
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    if (WIFSIGNALED(status)) ++killed;
  }
  CHECK(killed == 8);
  REQUIRE(last > 0);
  mds::runtime threads(1);
  const mds::opened_store run = remote.open(threads);
  model mine(0, 1, cut::rows);
  const auto found = mds::checkpoint::open(run);
  CHECK(found.step() >= last);
  found.load(mine.list());
  CHECK(mine.difference(found.step()) == "");
}
