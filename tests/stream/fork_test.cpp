// Loaders, datasets and writers that a forked child inherits, without their threads.

#include <mdstream/mdstream.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/in_child.hpp"
#include "support/plain_dataset.hpp"

// The thread sanitizer does not follow a fork of a program with threads.
#if !defined(__SANITIZE_THREAD__)

namespace mds = mdstream;

namespace fork_test {

using scratch_directory::scratch;
using loader = mds::loader<>;

struct data {
  scratch dir;
  data() { support::write_plain_dataset(dir / "remote", std::vector<std::uint64_t>(40, 10)); }
  [[nodiscard]] loader::options options() const {
    return {.remote = dir / "remote",
            .local = dir / "cache",
            .cache_limit = 13000,
            .batch_size = 10,
            .world = mds::world{},
            .threads = 3};
  }
  /// Files of live processes, and what they say.
  [[nodiscard]] std::size_t members() const {
    using files = std::filesystem::directory_iterator;
    return static_cast<std::size_t>(std::distance(files(dir / "cache/.mdstream/live"), files()));
  }
};

/// Whether it is refused with a sentence.
template <class Call>
bool refused(const Call& call) {
  try {
    call();
  } catch (const mds::error& e) {
    return e.code() == mds::errc::unsupported &&
           std::string(e.what()).find("after the fork") != std::string::npos;
  }
  return false;
}

TEST_CASE("a forked child destroys what it inherits without waiting, and the run goes on") {
  const data from;
  std::optional<loader> one(from.options());
  std::uint64_t samples = 0;
  {
    auto epoch = one->epoch();
    loader::batch_type batch;
    while (epoch.next(batch)) {
      samples += batch.size();
      if (samples % 50 != 0) continue;
      CHECK(support::in_child([&] {
              const bool said = refused([&] { (void)epoch.next(batch); }) &&
                                refused([&] { (void)one->state(); }) &&
                                refused([&] { (void)one->epoch().begin(); });
              one.reset();
              batch = {};
              return said ? 0 : 1;
            }) == 0);
      CHECK(from.members() == 1);
    }
  }
  CHECK(samples == 400);
  one.reset();
  CHECK(from.members() == 0);
}

TEST_CASE("a forked child makes a loader of its own in the same cache") {
  const data from;
  auto options = from.options();
  options.cache_limit = 15000;
  loader one(options);
  auto epoch = one.epoch();
  loader::batch_type batch;
  REQUIRE(epoch.next(batch));
  CHECK(support::in_child([&] {
          loader own(options);
          std::uint64_t samples = 0;
          for (auto& each : own.epoch()) samples += each.size();
          return samples == 400 && from.members() == 2 ? 0 : 1;
        }) == 0);
  while (epoch.next(batch)) {
  }
}

TEST_CASE("a child that lives on does not keep its dead parent alive for other processes") {
  const data from;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t parent = support::fork_child([&] {
    loader one(from.options());
    auto epoch = one.epoch();
    loader::batch_type batch;
    epoch.next(batch);
    const pid_t child = ::fork();
    if (child == 0) {  // which has given up what it inherited when fork returns here, not there
      const pid_t own = ::getpid();
      (void)!::write(ready[1], &own, sizeof own);
    }
    for (;;) ::pause();
    return 0;
  });
  ::close(ready[1]);
  pid_t child = 0;
  REQUIRE(::read(ready[0], &child, sizeof child) == sizeof child);
  ::kill(parent, SIGKILL);
  CHECK(support::status_of(parent) == -1);
  {
    loader other(from.options());
    CHECK(from.members() == 1);
  }
  ::kill(child, SIGKILL);
  ::close(ready[0]);
}

TEST_CASE("samples of an inherited dataset that are mapped can be read; others are refused") {
  const data from;
  std::optional<mds::dataset<>> all(
      mds::dataset<>::options{.remote = from.dir / "remote", .local = from.dir / "cache"});
  CHECK((*all)[3].get<std::int64_t>("id") == 3);
  CHECK(support::in_child([&] {
          const bool mapped = (*all)[4].get<std::int64_t>("id") == 4;
          const bool said = refused([&] { (void)(*all)[399]; });
          auto sample = (*all)[5];
          all.reset();
          return mapped && said && sample.get<std::int64_t>("id") == 5 ? 0 : 1;
        }) == 0);
  CHECK((*all)[399].get<std::int64_t>("id") == 399);
}

TEST_CASE("an inherited writer writes nothing in a forked child") {
  using typed = mds::policies<mds::schema<mds::column<"id", mds::int_>>>;
  const scratch dir;
  using writer = mds::writer<typed>;
  std::optional<writer> out(std::in_place, writer::options{.out = dir / "out", .size_limit = 100});
  for (std::int64_t i = 0; i < 20; ++i) out->write(i);
  CHECK(support::in_child([&] {
          const bool said = refused([&] { out->finish(); });
          out.reset();
          return said ? 0 : 1;
        }) == 0);
  out->finish();
  CHECK(mds::dataset<>({.local = dir / "out"}).size() == 20);
}

TEST_CASE("a runtime is destroyed in a forked child without its threads") {
  std::optional<mds::runtime> threads(std::in_place, 2);
  CHECK(support::in_child([&] {
          threads.reset();
          return 0;
        }) == 0);
}

}  // namespace fork_test

#endif
