#include <mdstream/cache/detail/slots.hpp>

#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/seed.hpp"

namespace slots_test {

using namespace cache_test;

/// A mapping of `size` bytes that all are `value`.
mds::detail::file_mapping mapping_of(const scratch& root, unsigned char value,
                                     std::size_t size = 4096) {
  const std::string path = root / std::to_string(value);
  write_file(path, std::vector<std::byte>(size, std::byte{value}));
  const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDONLY);
  return mds::detail::file_mapping::of(fd.get(), size, path);
}

/// Whether the process has mapped any file of a directory.
bool is_mapped(const std::string& directory) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(directory + "/") != std::string::npos) return true;
  return false;
}

/// Both ways of counting, where the kernel has both.
std::vector<bool> ways_to_count() {
  std::vector<bool> ways{false};
  if (mds::detail::has_asymmetric_fence()) ways.push_back(true);
  return ways;
}

TEST_CASE("a slot is taken, shared, and unmapped only when nobody holds it", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    const auto table = mds::detail::slot_table::make(1000, own_counters);
    CHECK_FALSE(table->try_acquire(999).has_value());
    CHECK(table->unmap(999));
    {
      mds::detail::shard_ref ref = table->insert(999, mapping_of(root, 7), {});
      const mds::detail::shard_ref copy = ref;
      ref = {};
      CHECK_FALSE(static_cast<bool>(ref));
      CHECK_FALSE(table->unmap(999));
      CHECK(copy.bytes().size() == 4096);
      CHECK(copy.bytes().back() == std::byte{7});
      CHECK(table->mapped() == 1);
    }
    CHECK(table->try_acquire(999).has_value());
    CHECK(table->unmap(999));
    CHECK_FALSE(table->try_acquire(999).has_value());
    CHECK(table->mapped() == 0);
  }
}

TEST_CASE("a second mapping of a shard is given up for the first", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    const auto table = mds::detail::slot_table::make(1, own_counters);
    const mds::detail::shard_ref first = table->insert(0, mapping_of(root, 1), {});
    const mds::detail::shard_ref second = table->insert(0, mapping_of(root, 2), {});
    CHECK(second.bytes().data() == first.bytes().data());
    CHECK(table->mapped() == 1);
  }
}

TEST_CASE("a sweep takes what was not used since the last one", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    const auto table = mds::detail::slot_table::make(3, own_counters);
    for (unsigned char i = 0; i < 3; ++i) (void)table->insert(i, mapping_of(root, i), {});
    const mds::detail::shard_ref held = *table->try_acquire(2);
    CHECK(table->sweep() == 3);
    (void)table->try_acquire(1);
    CHECK(table->sweep() == 2);
    CHECK_FALSE(table->try_acquire(0).has_value());
    CHECK(table->mapped_at(0) == 1);
    CHECK(table->mapped_at(2) == 3);
  }
}

TEST_CASE("references outlive the table, and the last one ends it", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    auto table = mds::detail::slot_table::make(300, own_counters);
    std::vector<mds::detail::shard_ref> held;
    for (unsigned char i = 0; i < 4; ++i) held.push_back(table->insert(i, mapping_of(root, i), {}));
    held.push_back(table->insert(299, mapping_of(root, 9), {}));
    held.push_back(held[1]);
    held.erase(held.begin());
    table.reset();
    CHECK(held[0].bytes()[5] == std::byte{1});
    CHECK(held[3].bytes()[5] == std::byte{9});
    held.clear();  // the address sanitizer sees what is left
  }
}

/// MDSTREAM_LONG_TESTS in the environment: 60 million acquisitions.
int rounds() { return std::getenv("MDSTREAM_LONG_TESTS") != nullptr ? 10'000'000 : 3000; }

TEST_CASE("threads take and unmap the same slots", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const unsigned seed = support::test_seed();
    INFO("seed " << seed);
    const scratch root;
    auto table = mds::detail::slot_table::make(4, own_counters);
    for (unsigned char i = 0; i < 4; ++i) (void)mapping_of(root, i);
    std::atomic<int> wrong{0}, taken{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937 random(seed + t);
        for (int i = 0; i < rounds(); ++i) {
          const auto shard = static_cast<std::uint32_t>(random() % 4);
          std::optional<mds::detail::shard_ref> ref = table->try_acquire(shard);
          if (!ref && random() % 2 == 0) {
            const std::string path = root / std::to_string(shard);
            const mds::detail::unique_fd fd = mds::detail::open_file(path, O_RDONLY);
            ref = table->insert(shard, mds::detail::file_mapping::of(fd.get(), 4096, path), {});
          }
          if (!ref) continue;
          ++taken;
          const mds::detail::shard_ref copy = *ref;
          if (copy.bytes()[random() % 4096] != static_cast<std::byte>(shard)) ++wrong;
        }
      });
    }
    threads.emplace_back([&] {
      std::mt19937 random(seed + 9);
      for (int i = 0; i < rounds(); ++i) {
        if (random() % 2 == 0) {
          (void)table->unmap(static_cast<std::uint32_t>(random() % 4));
        } else {
          (void)table->sweep();
        }
      }
    });
    for (std::thread& each : threads) each.join();
    CHECK(wrong == 0);
    CHECK(taken > 0);
  }
}

TEST_CASE("references that are dropped by other threads while the table ends", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    for (int round = 0; round < 50; ++round) {
      auto table = mds::detail::slot_table::make(8, own_counters);
      std::vector<std::thread> threads;
      for (unsigned char i = 0; i < 4; ++i) {
        threads.emplace_back([ref = table->insert(i, mapping_of(root, i), {})]() mutable {
          const mds::detail::shard_ref copy = ref;
          ref = {};
        });
      }
      table.reset();
      for (std::thread& each : threads) each.join();
    }
    CHECK_FALSE(is_mapped(root.path()));
  }
}

TEST_CASE("references are given back by other threads than took them, and by threads that end",
          "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    auto table = mds::detail::slot_table::make(2, own_counters);
    (void)table->insert(0, mapping_of(root, 1), {});
    std::vector<mds::detail::shard_ref> taken;
    for (int i = 0; i < 5; ++i) {
      std::thread([&] {
        taken.push_back(*table->try_acquire(0));
        taken.push_back(taken.back());
      }).join();
    }
    CHECK_FALSE(table->unmap(0));
    std::thread([&] { taken.resize(1); }).join();
    CHECK_FALSE(table->unmap(0));
    CHECK(taken[0].bytes()[0] == std::byte{1});
    SECTION("and then the slot is free") {
      taken.clear();
      CHECK(table->unmap(0));
      CHECK_FALSE(table->try_acquire(0));
    }
    SECTION("and the last one ends a table without an owner") {
      table.reset();
      std::thread([&] { taken.clear(); }).join();
      CHECK_FALSE(is_mapped(root.path()));
    }
  }
}

TEST_CASE("a reference that lives as long as its thread's own variables", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    auto table = mds::detail::slot_table::make(1, own_counters);
    (void)table->insert(0, mapping_of(root, 1), {});
    std::thread([&] {
      // Made before the thread counts for the table, so destroyed after its counters are gone.
      static thread_local mds::detail::shard_ref kept;
      kept = {};
      kept = *table->try_acquire(0);
    }).join();
    CHECK(table->unmap(0));
  }
}

/// Page faults of this process that needed no disk.
long faults() {
  struct rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return used.ru_minflt;
}

TEST_CASE("a thread that ends looks only at counters that it can have used", "[cache]") {
  if (!mds::detail::has_asymmetric_fence()) {
    SUCCEED("the thread sanitizer has no such fence");
    return;
  }
  constexpr std::size_t shards = std::size_t{64} << 20;  // 64 Ki pages of counters
  const scratch root;
  const auto table = mds::detail::slot_table::make(shards);
  const std::vector<std::uint32_t> mapped{0, 1000, shards / 2, shards - 1};
  unsigned char number = 0;
  for (const std::uint32_t shard : mapped)
    (void)table->insert(shard, mapping_of(root, number++), {});
  std::vector<mds::detail::shard_ref> kept;
  const long before = faults();
  std::thread([&] {
    for (const std::uint32_t shard : mapped) kept.push_back(*table->try_acquire(shard));
  }).join();
  CHECK(faults() - before < 16'000);
  for (const std::uint32_t shard : mapped) CHECK_FALSE(table->unmap(shard));
  kept.clear();
  for (const std::uint32_t shard : mapped) CHECK(table->unmap(shard));
}

TEST_CASE("a thread reads several tables in turn", "[cache]") {
  for (const bool own_counters : ways_to_count()) {
    const scratch root;
    std::vector<mds::detail::slot_table::owner> tables;
    for (int i = 0; i < 3; ++i) {
      tables.push_back(mds::detail::slot_table::make(600, own_counters));
      (void)tables.back()->insert(500, mapping_of(root, static_cast<unsigned char>(i)), {});
    }
    for (int turn = 0; turn < 20; ++turn) {
      const auto& table = tables[static_cast<std::size_t>(turn % 3)];
      const mds::detail::shard_ref ref = *table->try_acquire(500);
      CHECK(ref.bytes()[0] == static_cast<std::byte>(turn % 3));
      CHECK_FALSE(table->unmap(500));
    }
    tables.erase(tables.begin());
    const auto fresh =
        mds::detail::slot_table::make(600, own_counters);  // drops what the first one left
    CHECK_FALSE(fresh->try_acquire(500));
    CHECK(tables[0]->unmap(500));
  }
}

TEST_CASE("what was found out about a mapping is forgotten with it", "[cache]") {
  const scratch root;
  const auto table = mds::detail::slot_table::make(1);
  for (std::size_t found = 0; found < 2; ++found) {
    mds::detail::shard_ref ref = table->insert(0, mapping_of(root, 1), {});
    const auto refuse = []() -> const std::byte* { throw 1; };
    const std::byte* const position = ref.bytes().data() + found;
    CHECK_THROWS_AS(ref.landmark(refuse), int);
    CHECK(ref.landmark([&] { return position; }) == position);
    CHECK(ref.landmark(refuse) == position);
    ref = {};
    CHECK(table->unmap(0));
  }
}

}  // namespace slots_test
