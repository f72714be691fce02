// Jobs of several processes that are killed at any point of a save, and go on with other numbers of
// ranks and other cuts. MDSTREAM_LONG_TESTS in the environment: a hundred times.

#include <mdstream/checkpoint/saver.hpp>
#include <mdstream/launch/environment.hpp>
#include <mdstream/store/local.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "checkpoint/training.hpp"
#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/in_child.hpp"
#include "support/sanitizer.hpp"
#include "support/seed.hpp"

namespace kill_test {

namespace mds = mdstream;
using scratch_directory::scratch;
using training::cut;
using training::model;

constexpr auto never = ~std::uint64_t{0};

int rounds() {
  if (std::getenv("MDSTREAM_LONG_TESTS") != nullptr) return 100;
  return support::sanitized ? 10 : 40;
}

/// Between the processes.
struct shared {
  std::atomic<std::uint64_t> complete{0};  // the newest step that was told to be
  std::atomic<std::uint64_t> resumed{0};   // by the job that runs
};

/// A directory whose process is killed before or after one of its operations.
class killing {
 public:
  killing(mds::store::local inner, std::int64_t at)
      : inner_(std::move(inner)), left_(std::make_shared<std::atomic<std::int64_t>>(at)) {}

  std::uint64_t size(std::string_view key) const { return inner_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return inner_.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    count();
    inner_.write(key, bytes);
    count();
  }
  void publish(std::string_view key, mds::bytes_view bytes) const {
    count();
    inner_.publish(key, bytes);
    count();
  }
  bool create(std::string_view key, mds::bytes_view bytes) const {
    count();
    const bool made = inner_.create(key, bytes);
    count();
    return made;
  }
  std::vector<mds::object_info> list(std::string_view prefix) const {
    count();
    return inner_.list(prefix);
  }
  void remove(std::string_view key) const {
    inner_.remove(key);
    count();
  }
  std::string url(std::string_view key) const { return inner_.url(key); }

 private:
  void count() const {
    if (left_->fetch_sub(1) == 0) ::kill(::getpid(), SIGKILL);
  }
  mds::store::local inner_;
  std::shared_ptr<std::atomic<std::int64_t>> left_;
};

/// A rank: goes on from what is there and saves `steps` more. Its exit status; 1: not what was
/// saved.
int train(const std::string& root, const std::string& token, std::uint64_t rank,
          std::uint64_t ranks, cut how, std::int64_t killed_at, int steps, shared& reports) {
  mds::saver_options options{.run = killing(mds::store::local(root), killed_at),
                             .world = {.ranks_per_node = ranks, .rank = rank},
                             .token = token};
  options.memory.value = 700'000;
  options.keep = {.last = 2, .every = 5, .grace = std::chrono::milliseconds(0)};
  if (rank == 0)
    options.on_saved = [&](const std::exception_ptr& failure, const mds::saved_checkpoint& what) {
      if (!failure) reports.complete = what.step;
    };
  mds::checkpoint_saver saver(options);
  model mine(rank, ranks, how);
  std::uint64_t step = 0;
  if (const auto last = saver.resume_point()) {
    last->load(mine.list());
    step = last->step();
    if (!mine.difference(step).empty()) {
      std::fprintf(stderr, "rank %d: %s of step %d\n", static_cast<int>(rank),
                   mine.difference(step).c_str(), static_cast<int>(step));
      return 1;
    }
    if (last->loader_state() != std::to_string(step)) return 1;
  }
  if (rank == 0) reports.resumed = step;
  for (int i = 0; i < steps; ++i) {
    mine.set(++step);
    saver.save(step, mine.list(), {.loader_state = std::to_string(step)});
    saver.wait_snapshot();
    mine.clear();
  }
  saver.finish();
  return 0;
}

}  // namespace kill_test

using namespace kill_test;

TEST_CASE("processes that one forked name their temporary files differently", "[checkpoint]") {
  const std::uint64_t before = mds::detail::unique_number();
  CHECK(support::in_child([&] { return mds::detail::unique_number() - before > 1000 ? 7 : 1; }) ==
        7);
  CHECK(mds::detail::unique_number() == before + 1);
}

TEST_CASE("jobs that are killed anywhere go on from the newest complete checkpoint",
          "[checkpoint]") {
  const auto seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const scratch root;
  void* const memory =
      ::mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  shared& reports = *new (memory) shared;
  int killed = 0, ended = 0;
  std::uint64_t last = 0;
  const int kills = rounds();
  bool goes_on = true;
  for (int round = 0; goes_on; ++round) {
    goes_on = round < kills || killed <= kills / 4;
    const std::uint64_t ranks = std::array{1, 2, 3, 6}.at(random() % 4);
    const cut how = std::array{cut::rows, cut::columns, cut::whole}.at(random() % 3);
    // The last round is not killed.
    const std::uint64_t victim = goes_on ? random() % ranks : ranks;
    const auto at = static_cast<std::int64_t>(random() % 120);
    reports.resumed = never;
    std::vector<pid_t> children;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        int status = 99;
        try {
          status = train(root.path(), "round " + std::to_string(round), rank, ranks, how,
                         rank == victim ? at : -1, 4, reports);
        } catch (const std::exception& e) {
          std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(rank), e.what());
        }
        ::_exit(status);
      }
      children.push_back(child);
    }
    // As a launcher does: when one dies, all do.
    bool died = false;
    for (std::size_t i = 0; i < children.size(); ++i) {
      int status = 0;
      const pid_t child = ::waitpid(0, &status, 0);
      REQUIRE(child > 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      INFO("round " << round << ", status " << status);
      CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
      if (died) continue;
      died = true;
      for (const pid_t other : children)
        if (other != child) ::kill(other, SIGKILL);
    }
    died ? ++killed : ++ended;
    const auto newest = reports.complete.load();
    INFO("round " << round << " of " << ranks << " ranks, killed at " << at);
    CHECK(reports.resumed >= last);  // than what was complete in the round before
    if (reports.resumed != never) last = std::max<std::uint64_t>(last, reports.resumed);
    last = std::max(newest, last);
  }
  CHECK(ended > 0);
  CHECK(reports.complete >= 4);
  const auto found = mds::checkpoint::open(mds::store::local(root.path()));
  CHECK(found.step() == reports.complete);
  CHECK(found.verify().empty());
  model whole(0, 1, cut::rows);
  found.load(whole.list());
  CHECK(whole.difference(found.step()) == "");
  // What the killed ones left was swept, but for what is kept and what the last job may still need.
  std::size_t steps = 0;
  const auto kept = mds::checkpoint::list(mds::store::local(root.path()));
  for (const auto& each : kept) {
    CHECK((each.step % 5 == 0 || each.step + 6 >= found.step()));
    ++steps;
  }
  CHECK(steps >= 2);
  ::munmap(memory, sizeof(shared));
}
