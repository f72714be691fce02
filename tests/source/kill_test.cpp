// A build that is killed goes on to the same index.

#include <mdstream/source/list_source.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string_view>
#include <thread>

#include "source/sources.hpp"
#include "support/in_child.hpp"

using namespace source_test;

namespace {

/// Ends its process some time after a number of writes, or after its making.
struct ends_soon : mds::store::local {
  ends_soon(const std::filesystem::path& root, int writes, std::chrono::microseconds after)
      : mds::store::local(root), left(std::make_shared<std::atomic<int>>(writes)), later(after) {
    if (writes == 0) end();
  }
  void write(std::string_view key, mds::bytes_view bytes) const {
    mds::store::local::write(key, bytes);
    if (--*left == 0) end();
  }
  void end() const {
    if (later.count() == 0) ::raise(SIGKILL);
    std::thread([after = later] {
      std::this_thread::sleep_for(after);
      ::raise(SIGKILL);
    }).detach();
  }

  std::shared_ptr<std::atomic<int>> left;
  std::chrono::microseconds later;
};

}  // namespace

TEST_CASE("a build that was killed at any moment goes on to the same index") {
  std::mt19937 random(support::test_seed());
  const indexed_source at;
  raw::options about{.format = "jsonl"};
  about.shard_bytes = 20'000;
  for (int i = 0; i < 30; ++i) {
    std::string lines;
    for (auto n = random() % 3000; n > 0; --n)
      lines += "{\"a\": " + std::to_string(random()) + ", \"b\": \"text\"}\n";
    const std::string how = i % 3 == 0 ? ".gz" : "";
    at.put("part-" + std::to_string(100 + i) + ".jsonl" + how, packed(lines, how));
  }
  const raw::detail::row_index expected = at.build(about).index;
  at.index.remove(raw::row_index_name);

  // The first is killed as soon as it has kept something; the others after some more, or anywhere.
  int killed = 0;
  for (int round = 0; killed < 10; ++round) {
    REQUIRE(round < 300);
    const int writes = round == 0 ? 1 : static_cast<int>(random() % 4);
    const auto later = std::chrono::microseconds(round == 0 ? 0 : random() % 10'000);
    const pid_t child = support::fork_child([&] {
      mds::runtime threads(2);
      const mds::opened_store index(ends_soon(at.beside.path(), writes, later));
      (void)raw::build_index(at.store.on(threads), decoders, raw_test::format_of(about),
                             raw::list_source(at.store.on(threads), about.files), index,
                             {.jobs = 2, .keep_every = mds::byte_size(1)});
      return 0;
    });
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(support::was_killed_or_well(status));
    killed += WIFSIGNALED(status) ? 1 : 0;
    if (round == 0) CHECK(at.index.list("scans/").size() >= 1);
    const auto index = raw::read_row_index(at.index);  // whole, or not there
    CHECK((index.has_value() || WIFSIGNALED(status)));
    if (!index) continue;
    CHECK(*index == expected);
    at.index.remove(raw::row_index_name);  // from nothing again
  }
  const raw::made_index made = at.build(about);
  CHECK(made.index == expected);
  CHECK(at.index.list("scans/").empty());
}

TEST_CASE("a build goes on from the scans that a killed one has kept") {
  const indexed_source at;
  for (int i = 0; i < 9; ++i) at.put("a" + std::to_string(i) + ".jsonl", "{\"x\": 1}\n");
  const raw::options about{.format = "jsonl"};
  const int status = support::in_child([&] {
    mds::runtime threads(2);
    const auto store = at.store.on(threads);
    auto listing = raw::list_source(store, "");
    mds::detail::kept_scans kept(at.index, about, 1);
    raw::find_versions(store, listing, 1);
    const auto format = raw_test::format_of(about);
    const raw::detail::index_builder builder(format, listing);
    for (std::size_t i = 0; i < 5; ++i)
      kept.add(mds::detail::scan_stretch(store, decoders, {&format, &builder.objects()[i]},
                                         {.infers = true}, {}),
               1);
    ::_exit(0);
    return 0;
  });
  REQUIRE(status == 0);
  at.put("a1.jsonl", "{\"x\": 1}\n{\"x\": 2}\n");  // of another version by now
  const raw::made_index made = at.build(about);
  CHECK(made.resumed == 4);
  CHECK(made.index.samples() == 10);
}
