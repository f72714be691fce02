#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/crc32c.hpp>
#include <mdstream/store/detail/digest.hpp>
#include <mdstream/store/detail/ranged_read.hpp>

#include <mdstream/store/any_store.hpp>
#include <mdstream/store/blocking.hpp>
#include <mdstream/store/fault_injecting.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/operations.hpp>
#include <mdstream/store/retrying.hpp>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cache/fault_store.hpp"
#include "store/conformance.hpp"
#include "store/forwarding.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace ranged_read_test {

namespace mds = mdstream;
using mds::errc;
using mds::store::memory;
using support::expect_error;
using namespace std::chrono_literals;

using inner_store = mds::blocking<memory>;

mds::detail::ranged_read_options quickly(std::size_t range, unsigned attempts) {
  return {.range_bytes = range, .at_once = 3, .retry = {.attempts = attempts, .pause = 10us}};
}

template <class S>
void read(mds::runtime& threads, const S& store, mds::mutable_bytes into,
          mds::detail::ranged_read_options options, std::stop_token stop = {}) {
  mds::detail::wait_for<>([&](auto& where, auto done) {
    mds::detail::async_read_ranges(threads, store, "key", {.bytes = into.size()}, into,
                                   std::move(options), stop, where, std::move(done));
  });
}

TEST_CASE("ranges of any size land in their place", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  const inner_store store(threads, objects);
  for (const std::size_t size : {0, 1, 99, 100, 101, 1000}) {
    for (const std::size_t range : {1, 7, 100, 5000}) {
      INFO(size << " bytes in ranges of " << range);
      const auto bytes = conformance::noise(size, 1);
      objects.write("key", bytes);
      std::vector<std::byte> into(size);
      read(threads, store, into, quickly(range, 1));
      CHECK(into == bytes);
    }
  }
}

TEST_CASE("ranges that are there are left, and each other is reported once", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  const auto bytes = conformance::noise(1000, 2);
  objects.write("key", bytes);
  std::vector<std::byte> into(1000, std::byte{7});
  std::multiset<std::size_t> reported;
  auto options = quickly(100, 1);
  options.is_there = [](std::size_t range) { return range % 2 == 0; };
  options.on_range = [&](std::size_t range) { reported.insert(range); };
  read(threads, inner_store(threads, objects), into, std::move(options));
  CHECK(reported == std::multiset<std::size_t>{1, 3, 5, 7, 9});
  CHECK(into[0] == std::byte{7});
  CHECK(into[100] == bytes[100]);
}

TEST_CASE("what comes by ranges is held against the checksum of the whole", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  const auto bytes = conformance::noise(1003, 2);
  objects.write("key", bytes);
  const inner_store store(threads, objects);
  std::vector<std::byte> into(bytes.size());
  const auto read = [&](const std::string& digest, mds::detail::ranged_read_options options) {
    mds::detail::wait_for<>([&](auto& where, auto done) {
      mds::detail::async_read_ranges(threads, store, "key",
                                     {.bytes = into.size(), .digest = digest}, into,
                                     std::move(options), {}, where, std::move(done));
    });
  };
  const std::string wrong = "md5:0 crc32c:00000001";
  for (const std::size_t range : {1, 100, 1003, 2000}) {
    INFO("ranges of " << range);
    read("md5:0 " + mds::detail::digest_of_crc32c(mds::detail::crc32c(bytes)), quickly(range, 1));
    CHECK(into == bytes);
    expect_error([&] { read(wrong, quickly(range, 1)); }, errc::corrupt, {"CRC32C", "key"});
  }
  auto options = quickly(100, 1);
  options.is_there = [](std::size_t number) { return number == 3; };
  read(wrong, std::move(options));  // nobody saw the whole
}

TEST_CASE("injected faults leave every byte right, or are errors", "[store]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  mds::runtime threads(2);
  const memory objects;
  const auto bytes = conformance::noise(2000, 3);
  objects.write("key", bytes);
  unsigned whole = 0;
  for (unsigned round = 0; round < 50; ++round) {
    const mds::fault_injecting faulty(threads, inner_store(threads, objects),
                                      {.chance = 0.3, .seed = seed + round, .stall = 10us});
    std::vector<std::byte> into(2000);
    try {
      read(threads, faulty, into, quickly(10, 12));
      CHECK(into == bytes);
      ++whole;
    } catch (const mds::error& e) {
      INFO(e.what());
      CHECK((e.code() == errc::unavailable || e.code() == errc::io_error ||
             e.code() == errc::corrupt));
    }
  }
  CHECK(whole > 10);
}

TEST_CASE("what a store sends beyond a range never lands", "[store]") {
  mds::runtime threads(2);
  const fault_store::store objects;
  objects.write("key", conformance::noise(100, 4));
  std::atomic<int> put = 0, beyond = 0;
  const mds::detail::ranged_target into{.put =
                                            [&](std::uint64_t offset, mds::bytes_view bytes) {
                                              ++put;
                                              if (offset % 50 + bytes.size() > 50) ++beyond;
                                            },
                                        .bytes = 100};
  const auto read = [&](const mds::any_async_store& store) {
    mds::detail::wait_for<>([&](auto& where, auto done) {
      mds::detail::async_read_ranges(threads, store, "key", {.bytes = 100}, into, quickly(50, 2),
                                     {}, where, std::move(done));
    });
  };
  expect_error([&] { read(fault_store::generous(threads, objects)); }, errc::corrupt,
               {"key", "more bytes than were asked for"});
  CHECK(put > 0);
  CHECK(beyond == 0);
  read(fault_store::streaming(threads, objects));
}

/// Each read brings one byte and breaks off.
struct dripping : store_test::forwarding<inner_store> {
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);

  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    ++*reads;
    inner.async_read(std::move(key), offset, into.first(1), std::move(stop), where,
                     [done = std::move(done), last = into.size() == 1](std::error_code code,
                                                                       std::size_t got) mutable {
                       done(code || last ? code : make_error_code(errc::unavailable), got);
                     });
  }
};

TEST_CASE("a broken read goes on from its last byte", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  const auto bytes = conformance::noise(30, 4);
  objects.write("key", bytes);
  const dripping store{{inner_store(threads, objects)}};
  std::vector<std::byte> into(30);
  read(threads, store, into, quickly(10, 2));
  CHECK(into == bytes);
  CHECK(*store.reads == 30);
}

TEST_CASE("all ranges and the store's other calls share one budget of repetitions", "[store]") {
  mds::runtime threads(2);
  const mds::fault_injecting broken(
      threads, inner_store(threads, memory()),
      {.chance = 1.0, .kinds = {mds::store_fault::unavailable}, .seed = 6});
  const mds::detail::shared_retry_budget budget(mds::detail::retry_budget(5, 0.5));
  auto options = quickly(10, 10);
  options.budget = budget;
  std::vector<std::byte> into(1000);
  expect_error([&] { read(threads, broken, into, std::move(options)); }, errc::unavailable);
  CHECK(broken.calls() <= 3 + 5);  // the first ranges, and what the budget gave to all of them
  CHECK_FALSE(budget.try_take());
  const std::uint64_t before = broken.calls();
  const mds::retrying store(threads, broken, {.attempts = 10, .pause = 10us}, budget);
  expect_error([&] { (void)mds::store_size(store, "key"); }, errc::unavailable);
  CHECK(broken.calls() == before + 1);
}

TEST_CASE("to go on behind what came costs no repetition, and what lands earns some", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  const auto bytes = conformance::noise(300, 4);
  objects.write("key", bytes);
  const dripping store{{inner_store(threads, objects)}};
  const mds::detail::shared_retry_budget budget(mds::detail::retry_budget(10, 0.5));
  while (budget.try_take()) {
  }
  auto options = quickly(100, 2);
  options.budget = budget;
  std::vector<std::byte> into(300);
  read(threads, store, into, std::move(options));
  CHECK(into == bytes);
  CHECK(budget.try_take());  // three ranges, half a repetition each
  CHECK_FALSE(budget.try_take());
}

TEST_CASE("the first failure ends the others, and a stop ends all", "[store]") {
  mds::runtime threads(2);
  const memory objects;
  objects.write("key", conformance::noise(500, 5));
  std::vector<std::byte> into(1000);
  expect_error([&] { read(threads, inner_store(threads, objects), into, quickly(100, 2)); },
               errc::corrupt, {"shorter", "key"});
  expect_error([&] { read(threads, inner_store(threads, memory()), into, quickly(100, 2)); },
               errc::not_found, {"key"});
  std::stop_source stop;
  auto options = quickly(1, 1);
  options.on_range = [&](std::size_t) { stop.request_stop(); };
  expect_error(
      [&] {
        read(threads, inner_store(threads, objects), mds::mutable_bytes(into).first(500),
             std::move(options), stop.get_token());
      },
      errc::canceled);
}

}  // namespace ranged_read_test
