// What surrounds a cache goes wrong: disks, directories, limits of the process.

#include <mdstream/cache/detail/shard_cache.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/own_mounts.hpp"

namespace faults_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;
using memory = mds::store::memory;

/// Runs `body` in a child process, where it may break things for good. Its exit status.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int status = 99;
    try {
      status = body();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("a full disk evicts before it refuses, and what is held stays", "[cache]") {
  const scratch root;
  const bool zipped = GENERATE(false, true);
  support::with_own_mounts([&] {
    REQUIRE(::mount("none", root.path().c_str(), "tmpfs", 0, "size=256k") == 0);
    const dataset data({.shards = 8, .bytes = 50'000, .zipped = zipped});
    const fault_store::store remote;
    data.put(remote);
    mds::runtime threads(2);
    std::vector<std::string> warnings;
    auto options = options_of(root.path());
    options.warn = [&](const std::string& text) { warnings.push_back(text); };
    {
      cache shards(threads, options, {stream_of(data, root.path(), remote)});
      for (std::uint32_t round = 0; round < 2; ++round)
        for (std::uint32_t i = 0; i < 8; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
      CHECK(shards.counters().shards_evicted > 0);
      // The disk is asked for room before the store for bytes.
      CHECK(remote.reads() == shards.counters().shards_fetched);
      REQUIRE(warnings.size() == 1);
      CHECK(warnings[0].find("is full: shards are evicted") != std::string::npos);
      CHECK(*shards.usage() == bytes_in(root.path()));

      std::vector<mds::detail::shard_ref> held;
      for (std::uint32_t i = 0; i < 8; ++i) {
        std::optional<mds::detail::shard_ref> got;
        const auto failure = support::error_of([&] { got = shards.acquire(i); });
        if (!failure) {
          held.push_back(*std::move(got));
          continue;
        }
        CHECK(failure->code() == errc::no_space);
        const std::string text = failure->what();
        CHECK(text.find("shard " + std::to_string(i)) != std::string::npos);
        CHECK(text.find("nothing that this library put there can go now") != std::string::npos);
        break;
      }
      CHECK(held.size() > 1);
      CHECK(held.size() < 8);
      for (std::uint32_t i = 0; i < held.size(); ++i) CHECK(data.is_right(i, held[i].bytes()));
      CHECK(fs::is_empty(root / ".mdstream/tmp"));
    }
    // With a limit that the disk can hold, the same data can be read.
    cache limited(threads, options_of(root.path(), 150'000),
                  {stream_of(data, root.path(), remote)});
    for (std::uint32_t i = 0; i < 8; ++i) CHECK(data.is_right(i, limited.acquire(i).bytes()));
  });
}

TEST_CASE("a file that may not grow is an error that leaves nothing", "[cache]") {
  const scratch root;
  const dataset data({.shards = 2, .bytes = 50'000});
  const memory remote;
  data.put(remote);
  auto stream = stream_of(data, root.path(), remote);
  const int status = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small{20'000, 20'000};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 3;
    mds::runtime threads(1);
    cache shards(threads, options_of(root.path()), {stream});
    const auto failure = support::error_of([&] { (void)shards.acquire(0); });
    if (!failure || failure->code() != errc::io_error) return 1;
    if (std::string(failure->what()).find("File too large") == std::string::npos) return 4;
    return fs::is_empty(root / ".mdstream/tmp") ? 0 : 2;
  });
  CHECK(status == 0);
  mds::runtime threads(1);
  cache shards(threads, options_of(root.path()), {stream});
  CHECK(data.is_right(0, shards.acquire(0).bytes()));
}

TEST_CASE("clocks that jump change nothing", "[cache]") {
  // Of clocks that can be set the cache knows only the times of files.
  const dataset data({.shards = 6});
  const memory remote;
  data.put(remote);
  const scratch root;
  const auto stream = stream_of(data, root.path(), remote);
  mds::runtime threads(1);
  const auto now = fs::file_time_type::clock::now();
  const std::uint64_t limit = data.text().size() + 4 * 4112;
  for (const auto jump : {-24h * 365 * 20, 24h * 365 * 20}) {
    cache shards(threads, options_of(root.path(), limit), {stream});
    for (std::uint32_t round = 0; round < 3; ++round) {
      for (std::uint32_t i = 0; i < 6; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
      for (const auto& each : fs::recursive_directory_iterator(root.path()))
        fs::last_write_time(each.path(), now + jump);
    }
    CHECK(*shards.usage() == bytes_in(root.path()));
    CHECK(bytes_in(root.path()) <= limit);
  }
}

TEST_CASE("a directory that can not be written serves what is complete", "[cache]") {
  if (::geteuid() == 0) {
    // A read-only mount stands in for permissions that root ignores.
    const scratch root;
    const dataset data({.shards = 2});
    write_file(root / dataset::name(0, false), data.raw(0));
    auto stream = stream_of(data, root.path(), memory());
    support::with_own_mounts([&] {
      const char* path = root.path().c_str();
      REQUIRE(::mount(path, path, nullptr, MS_BIND, nullptr) == 0);
      REQUIRE(::mount(nullptr, path, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0);
      mds::runtime threads(1);
      cache shards(threads, options_of(root.path()), {stream});
      CHECK(data.is_right(0, shards.acquire(0).bytes()));
      expect_error([&] { (void)shards.acquire(1); }, errc::permission_denied, {"shard 1"});
    });
    return;
  }
  const scratch root;
  const dataset data({.shards = 2});
  write_file(root / dataset::name(0, false), data.raw(0));
  auto stream = stream_of(data, root.path(), memory());
  fs::permissions(root.path(), fs::perms::owner_read | fs::perms::owner_exec);
  mds::runtime threads(1);
  cache shards(threads, options_of(root.path()), {stream});
  CHECK(data.is_right(0, shards.acquire(0).bytes()));
  expect_error([&] { (void)shards.acquire(1); }, errc::permission_denied, {"shard 1"});
}

TEST_CASE("a cache that is deleted under its reader fills again", "[cache]") {
  const bool limited = GENERATE(false, true);
  const dataset data({.shards = 6});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(2);
  cache shards(threads, options_of(root.path(), limited ? data.text().size() + 3 * 4112 : 0),
               {stream_of(data, root / "train", remote)});
  const mds::detail::shard_ref held = shards.acquire(0);
  (void)shards.acquire(1);
  fs::remove_all(root / "train");
  fs::remove_all(root / ".mdstream");
  CHECK(data.is_right(0, held.bytes()));
  for (std::uint32_t i = 2; i < 6; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
  CHECK(files_in(root.path()).size() == (limited ? 3U : 4U));
  CHECK(fs::exists(root / ".mdstream/live"));
  CHECK(*shards.usage() == bytes_in(root.path()));
}

TEST_CASE("a file system without locks is refused with what to do", "[cache][kernel]") {
  const dataset data({.shards = 1});
  const scratch root;
  const auto stream = stream_of(data, root.path(), memory());
  const int status = in_child([&] {
    sock_filter refuse_flock[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_flock, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOLCK),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog program{4, refuse_flock};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      return 3;
    }
    mds::runtime threads(1);
    const auto failure =
        support::error_of([&] { cache(threads, options_of(root.path()), {stream}); });
    if (!failure || failure->code() != errc::unsupported) return 1;
    return std::string(failure->what()).find("local disk") != std::string::npos ? 0 : 2;
  });
  CHECK(status == 0);  // 3: system calls can not be filtered here
}

// The sanitizer cannot look at objects without a descriptor of its own, and takes them for bad.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a process that runs out of descriptors waits, says so once and goes on", "[cache]") {
  const dataset data({.shards = 64});
  const memory remote;
  data.put(remote);
  const scratch root;
  auto stream = stream_of(data, root.path(), remote);
  mds::runtime threads(1);
  auto options = options_of(root.path(), data.text().size() + 64 * 4112);
  options.room_timeout = 3s;  // ends the wait for those that are held
  std::vector<int> taken;
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) {
    warnings.push_back(text);
    for (const int fd : taken) ::close(fd);
    taken.clear();
  };
  cache shards(threads, options, {stream});
  struct rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);
  ::close(next);
  const struct rlimit few{static_cast<rlim_t>(next) + 24, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  // None is left until the cache has said that it waits.
  for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) taken.push_back(fd);
  const bool goes_on = data.is_right(63, shards.acquire(63).bytes());
  const std::size_t warned = warnings.size();
  // Far more shards than descriptors, but not held: idle ones give theirs up.
  std::uint32_t right = 0;
  for (std::uint32_t i = 0; i < 64; ++i) {
    right += data.is_right(i, shards.acquire(i).bytes()) ? 1 : 0;
  }
  // All of them held.
  std::vector<mds::detail::shard_ref> held;
  const auto failure = support::error_of([&] {
    for (std::uint32_t i = 0; i < 64; ++i) held.push_back(shards.acquire(i));
  });
  held.clear();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(right == 64);
  REQUIRE(failure.has_value());
  CHECK(failure->code() == errc::unavailable);
  CHECK(std::string(failure->what()).find("Too many open files") != std::string::npos);
  CHECK(goes_on);
  CHECK(warned == 1);
  INFO(failure->what());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("ulimit -n") != std::string::npos);
}
#endif

TEST_CASE("files of jobs that are gone make room, those of live jobs do not", "[cache]") {
  const dataset old_data({.shards = 6, .seed = 1}), new_data({.shards = 2, .seed = 2});
  const memory remote;
  old_data.put(remote, "old");
  new_data.put(remote, "new");
  const scratch root;
  mds::runtime threads(1);
  auto old_stream = stream_of(old_data, root / "old", remote);
  auto new_stream = stream_of(new_data, root / "new", remote);
  old_stream.prefix = "old";
  new_stream.prefix = "new";
  const auto fill = [&](cache& shards) {
    for (std::uint32_t i = 0; i < 6; ++i) (void)shards.acquire(i);
  };
  std::optional<cache> old_job;
  old_job.emplace(threads, options_of(root.path()), std::vector{old_stream});
  fill(*old_job);
  write_file(root / "old/notes.txt", mds::as_bytes("not a shard"));
  const std::uint64_t limit = old_data.text().size() + new_data.text().size() + 4 * 4112;
  auto options = options_of(root.path(), limit);
  options.room_timeout = 50ms;
  cache new_job(threads, options, {new_stream});
  expect_error([&] { (void)new_job.acquire(0); }, errc::cache_too_small);
  CHECK(files_in(root / "old").size() == 7);
  old_job.reset();
  CHECK(new_data.is_right(0, new_job.acquire(0).bytes()));
  CHECK(new_data.is_right(1, new_job.acquire(1).bytes()));
  CHECK(fs::exists(root / "old/notes.txt"));
  CHECK(files_in(root / "new").size() == 2);
  CHECK(bytes_in(root.path()) <= limit);
}

TEST_CASE("a remote that is the cache's own directory is never deleted from", "[cache]") {
  using local = mds::store::local;
  const dataset data({.shards = 4, .zipped = true});
  const scratch root;
  data.put(local(root / "data"));
  fs::create_directory_symlink(root / "data", root / "link");
  const std::string name = GENERATE("data", "link", "data/../data/");
  mds::runtime threads(1);
  auto stream = stream_of(data, root / "data", local(root / name));
  cache shards(threads, options_of(root.path(), 1), {stream});
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
  for (std::uint32_t i = 0; i < 4; ++i)
    CHECK(read_file(root / "data/" + dataset::name(i, true)) == data.zip(i));
}

TEST_CASE("ten thousand streams", "[cache]") {
  const dataset data({.shards = 1, .bytes = 64});
  const memory remote;
  data.put(remote);
  const scratch root(fs::exists("/dev/shm") ? "/dev/shm" : fs::temp_directory_path().native());
  mds::runtime threads(1);
  std::vector<mds::cache_stream> streams;
  for (int i = 0; i < 10'000; ++i) {
    streams.push_back({.name = std::to_string(i),
                       .directory = root / std::to_string(i),
                       .remote = remote,
                       .index = &data.index()});
  }
  cache shards(threads, options_of(root.path(), 64 * 100), std::move(streams));
  for (std::uint32_t i = 0; i < 10'000; i += 97) {
    CHECK(data.is_right(0, shards.acquire(i).bytes()));
  }
  CHECK(bytes_in(root.path()) <= 64 * 100);
}

}  // namespace faults_test
