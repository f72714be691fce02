// Processes that share a cache directory and are not like each other: of other machines, of other
// users, or stopped.

#include <mdstream/cache/detail/cache_directory.hpp>

#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <memory>
#include <optional>
#include <string>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

// The thread sanitizer does not follow a fork of a program with threads.
#if !defined(__SANITIZE_THREAD__)

namespace sharing_test {

using namespace cache_test;
using mds::errc;
using mds::detail::machine;
using mds::store::memory;

struct setting {
  dataset data{{.shards = 4}};
  scratch root{};
  std::string directory = root / "train";
  memory remote{};
  mds::detail::shard_catalog catalog{root.path(),
                                     described({stream_of(data, directory, memory())})};

  setting() { data.put(remote); }
  [[nodiscard]] std::unique_ptr<mds::detail::cache_ledger> join(
      mds::detail::ledger_rules rules = {}) const {
    return std::make_unique<mds::detail::cache_ledger>(root.path(), 0, catalog, std::move(rules));
  }
  [[nodiscard]] std::size_t members() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root / ".mdstream/live"), fs::directory_iterator()));
  }
};

/// What the system says on another machine, whose disk both see.
machine other_machine(const setting& fixture, const char* name) {
  if (::unshare(CLONE_NEWUTS) == 0) (void)!::sethostname(name, std::string(name).size());
  machine other = machine::of(fixture.root.path());
  other.name = name;
  other.boot += 1;
  other.local_disk = false;
  return other;
}
machine this_machine(const setting& fixture) {
  machine it = machine::of(fixture.root.path());
  it.local_disk = false;
  return it;
}

/// A child that has done `begin` and then stays until it is killed.
template <class Begin>
class peer {
 public:
  explicit peer(const Begin& begin) {
    int ready[2];
    REQUIRE(::pipe(ready) == 0);
    process_ = support::fork_child([&] {
      const auto held = begin();
      char byte = 1;
      (void)mds::detail::uninterrupted([&] { return ::write(ready[1], &byte, 1); });
      for (;;) ::pause();
      return 0;
    });
    ::close(ready[1]);
    char byte = 0;
    REQUIRE(mds::detail::uninterrupted([&] { return ::read(ready[0], &byte, 1); }) == 1);
    ::close(ready[0]);
  }
  ~peer() {
    if (process_ != 0) kill();
  }
  void stop() const {
    ::kill(process_, SIGSTOP);
    int status = 0;
    REQUIRE(::waitpid(process_, &status, WUNTRACED) == process_);
    REQUIRE(WIFSTOPPED(status));
  }
  void go_on() const { ::kill(process_, SIGCONT); }
  void kill() {
    ::kill(process_, SIGKILL);
    (void)support::status_of(std::exchange(process_, 0));
  }
  [[nodiscard]] std::string number() const { return std::to_string(process_); }

 private:
  pid_t process_ = 0;
};

TEST_CASE("a cache directory that another machine uses is refused, with what to do") {
  const setting fixture;
  peer other([&] { return fixture.join({.here = other_machine(fixture, "node-b")}); });
  const auto join = [&] { (void)fixture.join({.here = this_machine(fixture)}); };
  const auto refused = [&] {
    support::expect_error(join, errc::unsupported,
                          {"another machine", "node-b", "process " + other.number(),
                           "a directory of its own", "delete this file", ".mdstream/live/"});
  };
  refused();
  CHECK(fixture.members() == 1);
  const std::string number = other.number();
  other.kill();  // its lock is free now, as locks of other machines always seem to be
  support::expect_error(join, errc::unsupported, {"node-b", number});
  CHECK(fixture.members() == 1);
  for (const auto& each : fs::directory_iterator(fixture.root / ".mdstream/live"))
    fs::remove(each.path());
  join();
}

TEST_CASE("what a machine left before it was started again is cleared away") {
  const setting fixture;
  machine before = this_machine(fixture);
  before.boot += 1;
  {
    peer gone([&] { return fixture.join({.here = before}); });
    gone.kill();
  }
  SECTION("the same machine") { (void)fixture.join({.here = this_machine(fixture)}); }
  SECTION("a disk that only one machine can have") {
    machine moved = this_machine(fixture);
    moved.host += 1;
    moved.local_disk = true;
    (void)fixture.join({.here = moved});
  }
  CHECK(fixture.members() == 0);
}

TEST_CASE("containers of one machine, with other names, share a cache") {
  const setting fixture;
  peer other([&] {
    (void)other_machine(fixture, "container-b");
    return fixture.join();
  });
  const auto ledger = fixture.join();
  CHECK(ledger->others() == 1);
  CHECK(fixture.members() == 2);
}

TEST_CASE("a stopped process that holds the directory lock is named, and waited for no longer") {
  const setting fixture;
  const auto ledger = fixture.join({.peer_timeout = 120ms});  // only the time ends waits for it
  peer holder([&] {
    auto lock = mds::detail::open_lock(fixture.root / ".mdstream/lock");
    mds::detail::lock_file(lock.get(), "", 10s);
    return lock;
  });
  holder.stop();
  const auto use = [&] {
    mds::detail::cache_ledger::transaction change(*ledger);
    change.finish();
  };
  for (int i = 0; i < 2; ++i)
    support::expect_error(use, errc::unavailable,
                          {"process " + holder.number(), "is stopped", "kill -CONT", "lock"});
  holder.go_on();
  support::expect_error(use, errc::unavailable, {"process " + holder.number()});
  holder.kill();
  use();
}

TEST_CASE("a shard that a stopped process was to fetch is fetched by another") {
  const setting fixture;
  const std::uint64_t limit = GENERATE(0, 1000000);
  peer holder([&] {
    fs::create_directories(fixture.root / ".mdstream/shards");
    const auto ledger = fixture.join();
    return mds::detail::try_lock_path(ledger->lock_path(2), mds::detail::lock_kind::exclusive);
  });
  holder.stop();
  auto options = options_of(fixture.root.path(), limit);
  options.peer_timeout = 50ms;  // only the time ends the wait for one that is stopped
  {
    mds::runtime threads(2);
    cache one(threads, options, {stream_of(fixture.data, fixture.directory, fixture.remote)});
    CHECK(fixture.data.is_right(2, one.acquire(2).bytes()));
    CHECK(one.usage() == bytes_in(fixture.root.path()));
  }
  holder.go_on();
}

TEST_CASE("users who may write in the directory share its locks and shards, whatever their umask") {
  if (::geteuid() != 0) {
    SUCCEED("only root becomes others");
    return;
  }
  const setting fixture;
  fs::permissions(fixture.root.path(), fs::perms::all);
  fs::remove_all(fixture.directory);
  ::chmod(fixture.root.path().c_str(), 0777);
  const auto as_user = [&](uid_t user, mode_t mask) {
    REQUIRE((::setgid(user) == 0 && ::setuid(user) == 0));
    ::umask(mask);
    REQUIRE(mds::detail::make_shared_directories(fixture.directory) == 0);
    auto threads = std::make_unique<mds::runtime>(2);
    auto one = std::make_unique<cache>(
        *threads, options_of(fixture.root.path(), 1000000),
        std::vector{stream_of(fixture.data, fixture.directory, fixture.remote)});
    return std::pair(std::move(threads), std::move(one));
  };
  peer first([&] {
    auto made = as_user(1001, 0077);
    if (!fixture.data.is_right(1, made.second->acquire(1).bytes())) ::_exit(1);
    return made;
  });
  CHECK(support::in_child([&] {
          auto [threads, one] = as_user(1002, 0022);
          const bool right = fixture.data.is_right(1, one->acquire(1).bytes()) &&
                             fixture.data.is_right(3, one->acquire(3).bytes());
          return right && one->counters().shards_fetched == 1 && fixture.members() == 2 ? 0 : 1;
        }) == 0);
}

}  // namespace sharing_test

#endif
