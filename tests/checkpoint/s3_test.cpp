// Runs in a bucket: of the fake, or of the real server that tests/servers/with.sh started.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/store/s3.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
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

/// A new bucket. Files of more than a few bytes go in parts where the server takes such.
class bucket {
 public:
  bucket() {
    if (real_server::name().empty()) {
      fake_ = std::make_unique<fake_s3::server>();
      url_ = fake_->s3_url("run");
    } else {
      mds::runtime threads(1);
      url_ = real_server::new_bucket(threads) + "/run";
    }
  }
  [[nodiscard]] mds::opened_store open(mds::runtime& threads) const {
    mds::store::s3_options options;
    if (fake_) {
      options = with_fake::options_for(*fake_);
      options.part_bytes = 20'000;
    }
    return s3(threads, url_, options);
  }
  [[nodiscard]] fake_s3::server* fake() const { return fake_.get(); }

 private:
  std::unique_ptr<fake_s3::server> fake_;
  std::string url_;
};

}  // namespace checkpoint_s3_test

using namespace checkpoint_s3_test;

TEST_CASE("a run in a bucket moves from 1 to 3 to 2 ranks and stays equal to the bit", "[s3]") {
  const bucket place;
  mds::runtime threads(1);
  const mds::opened_store run = place.open(threads);
  CHECK(launch(run, "a", 1, cut::rows, {}, {1, 2}) == "");
  CHECK(launch(run, "b", 3, cut::columns, 2, {3}) == "");
  CHECK(launch(run, "c", 2, cut::rows, 3, {4}) == "");
  CHECK(launch(run, "d", 1, cut::whole, 4, {}) == "");
  CHECK(mds::checkpoint::list(run).size() == 4);
  CHECK(mds::checkpoint::open(run, "3").verify().empty());
  if (place.fake() == nullptr) return;
  std::size_t in_parts = 0, created = 0;
  for (const auto& each : place.fake()->requests()) {
    in_parts += each.target.find("partNumber") != std::string::npos ? 1U : 0U;
    if (each.header("if-none-match") != "*") continue;
    CHECK(each.target.find("/manifest/") != std::string::npos);
    ++created;
  }
  CHECK(in_parts > 50);
  CHECK(created == 4);
  CHECK(place.fake()->uploads() == 0);
}

TEST_CASE("a full load fetches each block once; a newest of many costs few requests", "[s3]") {
  const bucket place;
  if (place.fake() == nullptr) return;
  mds::runtime threads(1);
  const mds::opened_store run = place.open(threads);
  CHECK(launch(run, "a", 2, cut::rows, {}, {1, 2, 3}) == "");
  const std::size_t before = place.fake()->requests().size();
  const auto last = mds::checkpoint::open(run);
  const std::size_t opened = place.fake()->requests().size();
  // Starts, manifests, the last start, what is bad, manifest, layout, files; objects take two.
  CHECK(opened - before <= 10);
  model whole(0, 1, cut::rows);
  last.load(whole.list());
  CHECK(whole.difference(3) == "");
  const auto files = run.list("data/");
  std::size_t of_last = 0;
  for (const auto& each : files)
    if (each.key.ends_with(".safetensors") && mds::detail::save_of_data(each.key)->step == 3)
      ++of_last;
  CHECK(place.fake()->requests().size() - opened - 1 == of_last);
}

TEST_CASE("a server that refuses for a while is waited for; a lost answer makes no second manifest",
          "[s3]") {
  const bucket place;
  if (place.fake() == nullptr) return;
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  auto random = std::make_shared<std::mt19937_64>(seed);
  int refused = 0, lost = 0;
  place.fake()->instead = [&refused,
                           random](const fake_s3::question&) -> std::optional<fake_s3::answer> {
    if ((*random)() % 25 != 0) return std::nullopt;
    ++refused;
    return fake_s3::refusal(503, "SlowDown");
  };
  // The manifest is written, and the server says that it failed.
  place.fake()->afterwards = [&lost](const fake_s3::question& asked, fake_s3::answer& out) {
    if (asked.raw.header("if-none-match") != "*" || out.status != 200) return;
    ++lost;
    out = fake_s3::refusal(500, "InternalError");
  };
  mds::runtime threads(1);
  const mds::opened_store run = place.open(threads);
  CHECK(launch(run, "a", 2, cut::rows, {}, {1}) == "");
  CHECK(launch(run, "b", 1, cut::columns, 1, {2}) == "");
  CHECK(refused > 0);
  CHECK(lost == 2);
  CHECK(mds::checkpoint::list(run).size() == 2);
}

TEST_CASE("processes that are killed while they save to a bucket lose nothing that was complete",
          "[s3]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const bucket place;
  std::uint64_t last = 0;
  int killed = 0;
  for (int round = 0; round < 8; ++round) {
    int told[2];
    REQUIRE(::pipe(told) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      int status = 99;
      try {
        mds::runtime threads(1);
        mds::saver_options options = options_on(place.open(threads));
        options.memory.value = 700'000;
        options.on_saved = [&](const std::exception_ptr& failure,
                               const mds::saved_checkpoint& what) {
          const std::uint64_t step = what.step;
          if (!failure) (void)!::write(told[1], &step, sizeof step);
        };
        mds::checkpoint_saver saver(options);
        model mine(0, 1, cut::rows);
        std::uint64_t step = 0;
        if (const auto found = saver.resume_point()) {
          step = found->step();
          found->load(mine.list());
          if (!mine.difference(step).empty()) ::_exit(1);
        }
        if (step < last) ::_exit(2);
        while (true) {
          mine.set(++step);
          saver.save(step, mine.list());
          saver.wait_snapshot();
        }
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
      }
      ::_exit(status);
    }
    ::close(told[1]);
    // Killed at any point behind some of its saves.
    const auto saves = random() % 3;
    for (std::uint64_t i = 0; i < saves; ++i)
      if (::read(told[0], &last, sizeof last) != sizeof last) break;
    ::usleep(static_cast<useconds_t>(random() % 60'000));
    ::kill(child, SIGKILL);
    std::uint64_t more = 0;
    while (::read(told[0], &more, sizeof more) == sizeof more) last = more;
    ::close(told[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    INFO("round " << round << ", status " << status);
    CHECK(WIFSIGNALED(status));
    if (WIFSIGNALED(status)) ++killed;
  }
  CHECK(killed == 8);
  mds::runtime threads(1);
  const mds::opened_store run = place.open(threads);
  model mine(0, 1, cut::rows);
  if (last == 0) return;
  const auto found = mds::checkpoint::open(run);
  CHECK(found.step() >= last);
  found.load(mine.list());
  CHECK(mine.difference(found.step()) == "");
}
