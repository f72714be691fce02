// The small parts of a cache, each by itself: catalog, scan, journal, members, registered streams,
// counters of threads, the pair of fences, claims in their order, the rule of next uses.

#include <mdstream/cache/detail/asymmetric_fence.hpp>
#include <mdstream/cache/detail/catalog.hpp>
#include <mdstream/cache/detail/claims_in_order.hpp>
#include <mdstream/cache/detail/disk_scan.hpp>
#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/cache/detail/members.hpp>
#include <mdstream/cache/detail/next_use.hpp>
#include <mdstream/cache/detail/registered_streams.hpp>
#include <mdstream/cache/detail/thread_counts.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/scratch.hpp"
#include "support/catch.hpp"
#include "support/no_descriptors.hpp"

namespace parts_test {

namespace mds = mdstream;
namespace fs = std::filesystem;
using scratch_directory::scratch;

void put(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// A stream of shards `0.mds`, `1.mds`, ...; those with an odd number have a compressed form too.
mds::detail::catalog_stream stream_of(const std::string& directory, std::uint32_t shards,
                                      bool keep = false) {
  return {.name = directory,
          .directory = directory,
          .has_remote = true,
          .keep_zip = keep,
          .shards = shards,
          .files =
              [](std::uint32_t i) {
                mds::detail::shard_files files{
                    {.raw_name = std::to_string(i) + ".mds", .raw_bytes = 10}};
                if (i % 2 == 1) files.zip_name = files.raw_name + ".zstd";
                return files;
              },
          .sizes = [](std::uint32_t i) { return mds::detail::shard_sizes{10 + i, i % 2 * 5}; }};
}

TEST_CASE("a catalog finds the stream of every shard, and what it takes on the disk", "[cache]") {
  const mds::detail::shard_catalog catalog(
      "/c", {stream_of("/c/a", 3), stream_of("/c/none", 0), stream_of("/d", 2, true)});
  CHECK(catalog.shards() == 5);
  const std::size_t streams[] = {0, 0, 0, 2, 2};
  for (std::uint32_t i = 0; i < 5; ++i) CHECK(catalog.stream_number(i) == streams[i]);
  CHECK(catalog.files(4).raw_name == "1.mds");
  CHECK(catalog.footprint(1) == 11);      // the compressed file goes
  CHECK(catalog.footprint(4) == 11 + 5);  // it is kept
  mds::diagnostics where;
  catalog.locate(3, where);
  CHECK(where.stream == "/d");
  CHECK(where.shard == 0);
  CHECK(mds::detail::shard_catalog::lies_in("/c", "/c/a"));
  CHECK(mds::detail::shard_catalog::lies_in("/c", "/c"));
  CHECK(mds::detail::shard_catalog::lies_in("/", "/c"));
  CHECK_FALSE(mds::detail::shard_catalog::lies_in("/c", "/ca"));
}

TEST_CASE("a scan sees what lies there, and leaves out what is counted elsewhere", "[cache]") {
  const scratch root;
  put(root / "0.mds", "raw");
  put(root / "1.mds", "raw");
  put(root / "1.mds.zstd", "zip");
  put(root / "3.mds.zstd", "zip");
  put(root / "stranger", "12345");
  put(root / ".mdstream/journal", "ours");
  put(root / ".mdstream-1.tmp", "in the making");
  put(root / "val/0.mds", "another stream's");
  std::uint8_t flags[4];
  const std::vector<std::string> elsewhere{root / "val"};
  mds::detail::scan_stream(stream_of(root.path(), 4), elsewhere, flags);
  CHECK(flags[0] == mds::detail::raw_there);
  CHECK(flags[1] == (mds::detail::raw_there | mds::detail::zip_there));
  CHECK(flags[2] == mds::detail::absent);
  CHECK(flags[3] == mds::detail::zip_there);
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  mds::detail::for_each_file(root.path(), elsewhere, [&](std::string_view name, std::uint64_t n) {
    names.emplace_back(name);
    bytes += n;
  });
  std::ranges::sort(names);
  CHECK(names ==
        std::vector<std::string>{"0.mds", "1.mds", "1.mds.zstd", "3.mds.zstd", "stranger"});
  CHECK(bytes == 4 * 3 + 5);
  mds::detail::for_each_file(root / "nowhere", {}, [](std::string_view, std::uint64_t) { FAIL(); });
}

TEST_CASE("a journal that a change was left in, or that is torn, is of no use", "[cache]") {
  const scratch root;
  mds::detail::cache_journal one(root / "journal"), two(root / "journal");
  CHECK_FALSE(one.read());  // empty
  one.restart(100, 7);
  CHECK_FALSE(two.read());  // in the middle of a change
  one.append({.stream = 1, .shard = 2, .there = mds::detail::raw_there});
  one.end_change();
  REQUIRE(two.read());
  CHECK(two.head.used == 100);
  CHECK(two.head.reserved == 7);
  CHECK(two.peek_membership() == one.head.membership);
  REQUIRE(two.records_from(0).size() == 1);
  CHECK(two.records_from(0)[0].shard == 2);
  CHECK(two.records_from(1).empty());
  CHECK(two.records_from(99).empty());
  two.begin_change();
  CHECK_FALSE(one.read());
  two.end_change();
  CHECK(one.read());
  // Cut at every byte, as a loss of power may leave it: of no use, since records are missing.
  for (auto left = fs::file_size(root / "journal"); left-- > 0;) {
    fs::resize_file(root / "journal", left);
    CHECK_FALSE(two.read());
    CHECK(two.records_from(0).empty());
  }
}

TEST_CASE("members see each other, and which of them are dead", "[cache]") {
  const scratch root;
  const std::vector<std::uint64_t> keys{5, 3};
  const mds::detail::cache_members one(root.path(), {.limit = 50, .need = 2, .reserved = 1}, {});
  auto two = std::make_unique<mds::detail::cache_members>(
      root.path(), mds::detail::member_facts{.limit = 40, .need = 3, .largest = 7, .reserved = 4},
      keys);
  put(root / "9-dead", "");
  std::vector<std::string> forgotten;
  const auto forget = [&](std::string_view id) { forgotten.emplace_back(id); };
  mds::detail::member_sums sums = one.survey(forget);
  CHECK(forgotten == std::vector<std::string>{"9-dead"});
  CHECK(sums.found_dead);
  CHECK(sums.alive == 1);
  CHECK(sums.smallest_limit == 40);
  CHECK(sums.needs == 3);
  CHECK(sums.largest == 7);
  CHECK(sums.reserved == 4);
  CHECK_FALSE(fs::exists(root / "9-dead"));
  CHECK(one.streams_of_others() == std::vector<std::uint64_t>{3, 5});
  two->publish(std::vector<mds::detail::published_use>{{.stream = 3, .shard = 8, .distance = 2}});
  REQUIRE(one.uses_of_others().size() == 1);
  CHECK(one.uses_of_others()[0].shard == 8);
  CHECK(one.streams_of_others() == std::vector<std::uint64_t>{3, 5});
  two->update({.limit = 0, .need = 9});
  CHECK(one.uses_of_others().size() == 1);
  CHECK(one.survey(forget).needs == 9);
  CHECK(one.survey(forget).smallest_limit == 0);
  two.reset();
  CHECK(one.survey(forget).alive == 0);
  CHECK(one.uses_of_others().empty());
  fs::remove_all(root.path());
  CHECK_FALSE(one.listed());
}

TEST_CASE("a member's file with hostile counts is read within its bounds", "[cache]") {
  const scratch root;
  const mds::detail::cache_members one(root.path(), {}, {});
  const mds::detail::cache_members two(root.path(), {}, std::vector<std::uint64_t>{1});
  for (const auto& file : fs::directory_iterator(root.path())) {
    std::fstream text(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    text.seekp(4 * sizeof(std::uint64_t));  // the number of streams
    const std::uint64_t most = ~std::uint64_t{0};
    text.write(reinterpret_cast<const char*>(&most), sizeof most);
  }
  CHECK(one.streams_of_others().size() <= 1);
  CHECK(one.uses_of_others().empty());
}

TEST_CASE("registered streams are added once, and a torn end is cut off", "[cache]") {
  const scratch root;
  fs::create_directories(root / ".mdstream");
  const mds::detail::registered_streams streams(root.path());
  CHECK(streams.paths().empty());
  streams.add({"train", ""});
  streams.add({"train", "/elsewhere/val"});
  CHECK(streams.paths() == std::vector<std::string>{"", "/elsewhere/val", "train"});
  CHECK(streams.directory_of("") == root.path());
  CHECK(streams.directory_of("train") == root / "train");
  CHECK(streams.directory_of("/elsewhere/val") == "/elsewhere/val");
  std::ofstream(root / ".mdstream/streams", std::ios::app) << "tor";
  streams.add({"more"});
  CHECK(streams.paths() == std::vector<std::string>{"", "/elsewhere/val", "more", "train"});
  // Others may have written the file: what leaves the root is not followed.
  std::ofstream(root / ".mdstream/streams", std::ios::app) << "../out" << '\0';
  CHECK(streams.paths().size() == 4);
  // A lack of descriptors says nothing of the file. (A sanitizer that checks Catch2's own objects
  // needs descriptors, too.)
  const auto fails = [](const auto& call) {
    const support::no_descriptors none;
    try {
      call();
      return false;
    } catch (const mds::error&) {
      return true;
    }
  };
  const bool read_fails = fails([&] { (void)streams.paths(); });
  const bool add_fails = fails([&] { streams.add({"yet more"}); });
  CHECK(read_fails);
  CHECK(add_fails);
}

/// Counts what its threads leave.
struct table final : mds::detail::counted_table {
  mds::detail::thread_counts* enroll() override { return new mds::detail::thread_counts(1000); }
  void dismiss(mds::detail::thread_counts* counts) noexcept override {
    counts->drain(0, 1000, [this](std::uint32_t, std::uint32_t count) { sum += count; });
    delete counts;
  }
  [[nodiscard]] bool is_spent() const override { return false; }
  std::atomic<std::uint32_t> sum{0};
};

TEST_CASE("what threads count is kept when they end", "[cache]") {
  const auto of = std::make_shared<table>();
  using mds::detail::thread_counts;
  std::thread([&] {
    CHECK_FALSE(mds::detail::thread_tables::is_recent(*of));
    thread_counts::counter* const own = mds::detail::thread_tables::counters_for(*of);
    REQUIRE(own != nullptr);
    thread_counts::add(own[700], 3, std::memory_order_relaxed);
    thread_counts::add(own[1], ~0U, std::memory_order_relaxed);  // modulo 2^32
    CHECK(mds::detail::thread_tables::is_recent(*of));
    CHECK(mds::detail::thread_tables::recent() == own);
  }).join();
  CHECK(of->sum == 2);
}

TEST_CASE("counters are drained where they are asked for, and once", "[cache]") {
  using mds::detail::thread_counts;
  thread_counts counts(600);
  for (const std::size_t slot : {0U, 255U, 256U, 599U})
    thread_counts::add(counts.counters()[slot], 1, std::memory_order_relaxed);
  const auto drained = [&](std::size_t first, std::size_t slots) {
    std::vector<std::uint32_t> found;
    counts.drain(first, slots, [&](std::uint32_t slot, std::uint32_t) { found.push_back(slot); });
    return found;
  };
  CHECK(drained(256, 256) == std::vector{256U});
  CHECK(counts.count(256) == 0);
  CHECK(counts.count(255) == 1);
  CHECK(drained(512, 256) == std::vector{599U});  // the last block is not whole
  CHECK(drained(0, 600) == std::vector{0U, 255U});
  CHECK(drained(0, 600).empty());
}

TEST_CASE("of two threads that write and then look, one sees the other", "[cache]") {
  if (!mds::detail::has_asymmetric_fence()) {
    SUCCEED("the thread sanitizer has no such fence");
    return;
  }
  std::atomic<int> often{0}, rare{0};
  std::atomic<int> turn{0};
  int saw_rare = 0, saw_often = 0;
  constexpr int turns = 2000;
  std::thread other([&] {
    for (int i = 1; i <= turns; ++i) {
      while (turn.load(std::memory_order_acquire) != 2 * i - 1) std::this_thread::yield();
      often.store(i, std::memory_order_relaxed);
      mds::detail::light_fence();
      saw_rare = rare.load(std::memory_order_relaxed);
      turn.store(2 * i, std::memory_order_release);
    }
  });
  int missed = 0;
  for (int i = 1; i <= turns; ++i) {
    turn.store(2 * i - 1, std::memory_order_release);
    rare.store(i, std::memory_order_relaxed);
    REQUIRE(mds::detail::heavy_fence());
    saw_often = often.load(std::memory_order_relaxed);
    while (turn.load(std::memory_order_acquire) != 2 * i) std::this_thread::yield();
    missed += saw_often != i && saw_rare != i ? 1 : 0;
  }
  other.join();
  CHECK(missed == 0);
}

TEST_CASE("what is wanted ahead claims nothing behind a refused one, what is wanted now does",
          "[cache]") {
  using mds::detail::claim_result;
  using mds::detail::urgency;
  mds::runtime threads(1);
  mds::detail::claims_in_order claims(threads);
  const auto first = claims.ask(), second = claims.ask();
  int claimed = 0;
  const auto there_is_room = [&] {
    ++claimed;
    return claim_result::claimed;
  };
  CHECK(claims.claim(first, urgency::ahead, [] { return claim_result::no_room; }) ==
        claim_result::no_room);
  CHECK(claims.claim(second, urgency::ahead, there_is_room) == claim_result::no_room);
  CHECK(claimed == 0);
  CHECK(claims.claim(second, urgency::now, there_is_room) == claim_result::claimed);
  CHECK(claims.claim(first, urgency::ahead, there_is_room) == claim_result::claimed);
  CHECK(claims.claim(claims.ask(), urgency::ahead, there_is_room) == claim_result::claimed);
  CHECK(claimed == 3);
}

TEST_CASE("who asks for next uses gets those of the rule that was set last", "[cache]") {
  mds::detail::next_use_rule rule;
  CHECK_FALSE(rule.is_known());
  CHECK_FALSE(rule.ask(1, 0));
  rule.set([](std::uint32_t shard, std::uint64_t from) { return shard + from; });
  CHECK(rule.is_known());
  CHECK(rule.ask(3, 4) == 7);
  rule.set(nullptr);
  CHECK_FALSE(rule.is_known());
}

}  // namespace parts_test
