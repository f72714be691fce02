#include <mdstream/cache/detail/shard_cache.hpp>

#include <mdstream/cache/detail/journal.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>

#include <atomic>
#include <future>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <thread>

#include "cache/fault_store.hpp"
#include "cache/fixture.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/seed.hpp"

namespace shard_cache_test {

using namespace cache_test;
using mds::errc;
using support::expect_error;
using memory = mds::store::memory;
using faulty = fault_store::store;

/// Waits for an asynchronous call that was started with a handler of its own.
struct answer {
  std::error_code code;
  mds::detail::shard_ref ref;
  mds::diagnostics where;
  std::promise<void> done;

  auto handler() {
    return [this](std::error_code failure, mds::detail::shard_ref found) {
      code = failure;
      ref = std::move(found);
      done.set_value();
    };
  }
  auto prefetch_handler() {
    return [this](std::error_code failure) {
      code = failure;
      done.set_value();
    };
  }
  void wait() { done.get_future().wait(); }
};

/// A cache that has room for two shards.
struct room_for_two {
  explicit room_for_two(std::uint32_t count, unsigned pool = 1)
      : data({.shards = count, .bytes = 4096}), threads(pool) {
    data.put(remote);
    auto options = options_of(root.path(), data.text().size() + 2 * 4112);
    options.room_timeout = 3s;  // for what a test's own thread lets go
    shards.emplace(threads, options, std::vector{stream_of(data, root.path(), remote)});
  }

  dataset data;
  memory remote{};
  scratch root{};
  mds::runtime threads;
  std::optional<cache> shards{};
};

TEST_CASE("a cache fetches every shard once and maps it", "[cache]") {
  const bool zipped = GENERATE(false, true);
  const std::string hash = GENERATE("", "xxh64");
  const dataset data({.shards = 5, .zipped = zipped});
  const memory remote;
  data.put(remote, "train");
  const scratch root;
  mds::runtime threads(2);
  auto stream = stream_of(data, root / "train", remote);
  stream.prefix = "train";
  stream.validate_hash = hash;
  cache shards(threads, options_of(root.path()), {stream});
  REQUIRE(shards.shards() == 5);
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 5; ++i) {
      CHECK(shards.try_acquire(i).has_value() == (round == 1));
      const mds::detail::shard_ref ref = shards.acquire(i);
      CHECK(data.is_right(i, ref.bytes()));
    }
  }
  CHECK(shards.counters().shards_fetched == 5);
  CHECK(files_in(root / "train").size() == 5);
  CHECK(*shards.usage() == bytes_in(root.path()));
}

TEST_CASE("shards are numbered over all streams", "[cache]") {
  const dataset one({.shards = 2, .seed = 1}), two({.shards = 3, .zipped = true, .seed = 2});
  const memory remote;
  one.put(remote, "one");
  two.put(remote, "two");
  const scratch root;
  mds::runtime threads(1);
  auto first = stream_of(one, root / "one", remote);
  auto second = stream_of(two, root / "two", remote);
  first.prefix = "one";
  second.prefix = "two";
  cache shards(threads, options_of(root.path()), {first, second});
  REQUIRE(shards.shards() == 5);
  for (std::uint32_t i = 0; i < 2; ++i) CHECK(one.is_right(i, shards.acquire(i).bytes()));
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(two.is_right(i, shards.acquire(2 + i).bytes()));
  expect_error([&] { (void)shards.acquire(5); }, errc::out_of_range);
}

TEST_CASE("what is resident is given on the calling thread", "[cache]") {
  const dataset data({.shards = 1});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(1);
  {
    cache first(threads, options_of(root.path()), {stream_of(data, root.path(), remote)});
    (void)first.acquire(0);
  }
  cache second(threads, options_of(root.path()), {stream_of(data, root.path(), memory())});
  std::thread::id ran_on;
  mds::diagnostics where;
  second.async_acquire(0, {}, where, [&](std::error_code code, mds::detail::shard_ref ref) {
    CHECK_FALSE(code);
    CHECK(data.is_right(0, ref.bytes()));
    ran_on = std::this_thread::get_id();
  });
  CHECK(ran_on == std::this_thread::get_id());
  CHECK(second.counters().shards_fetched == 0);
}

TEST_CASE("requests for one shard share one fetch", "[cache]") {
  const dataset data({.shards = 1});
  const faulty remote;
  data.put(remote);
  remote.control().delay = 20ms;  // most ask meanwhile; one that is late finds the shard
  const scratch root;
  mds::runtime threads(4);
  cache shards(threads, options_of(root.path()), {stream_of(data, root.path(), remote)});
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] { right += data.is_right(0, shards.acquire(0).bytes()) ? 1 : 0; });
  }
  for (std::thread& each : readers) each.join();
  CHECK(right == 8);
  CHECK(remote.reads_of(dataset::name(0, false)) == 1);
}

TEST_CASE("a limit is kept and the farthest next use goes first", "[cache]") {
  const dataset data({.shards = 6, .bytes = 4096});
  const memory remote;
  data.put(remote);
  const scratch root;
  // One worker: what it fetched last is let go before it fetches the next.
  mds::runtime threads(1);
  const std::uint64_t limit = data.text().size() + 3 * 4112;
  cache shards(threads, options_of(root.path(), limit), {stream_of(data, root.path(), remote)});
  shards.set_next_use(
      [](std::uint32_t shard, std::uint64_t) { return shard == 1 ? mds::detail::never : shard; });
  for (std::uint32_t i = 0; i < 4; ++i) (void)shards.acquire(i);
  CHECK(files_in(root.path()) ==
        std::vector<std::string>{"shard.00000.mds", "shard.00002.mds", "shard.00003.mds"});
  CHECK(bytes_in(root.path()) <= limit);
  CHECK(*shards.usage() == bytes_in(root.path()));
}

TEST_CASE("a shard takes the room of as many as it needs, none of them a local one", "[cache]") {
  const dataset small({.shards = 3, .bytes = 4096}), large({.shards = 1, .bytes = 3 * 4096}),
      own({.shards = 3, .bytes = 4096});
  const memory remote;
  small.put(remote, "small");
  large.put(remote, "large");
  const scratch root;
  auto first = stream_of(small, root / "small", remote);
  auto second = stream_of(large, root / "large", remote);
  first.prefix = "small";
  second.prefix = "large";
  const auto third = stream_of(own, root / "own", std::nullopt);
  own.put(mds::store::local(root / "own"));
  const auto cached = [&] { return bytes_in(root / "small") + bytes_in(root / "large"); };
  const std::uint64_t limit = cached() + 3 * 4112;
  mds::runtime threads(1);
  cache shards(threads, options_of(root.path(), limit), {first, second, third});
  for (std::uint32_t i = 4; i < 7; ++i) CHECK(own.is_right(i - 4, shards.acquire(i).bytes()));
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(small.is_right(i, shards.acquire(i).bytes()));
  CHECK(files_in(root / "small").size() == 3);
  CHECK(large.is_right(0, shards.acquire(3).bytes()));
  CHECK(files_in(root / "small").empty());
  CHECK(files_in(root / "own").size() == 3);
  CHECK(cached() <= limit);
  CHECK(*shards.usage() == cached());
}

TEST_CASE("no change is left open behind a fetch, an eviction or a fetch that failed", "[cache]") {
  const dataset data({.shards = 2});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(1);
  cache shards(threads, options_of(root.path(), 1 << 20), {stream_of(data, root.path(), remote)});
  mds::detail::cache_journal journal(root / ".mdstream/journal");
  (void)shards.acquire(0);
  CHECK(journal.read());
  CHECK(shards.evict(0));
  CHECK(journal.read());
  remote.remove("shard.00001.mds");
  expect_error([&] { (void)shards.acquire(1); }, errc::not_found);
  CHECK(journal.read());
  CHECK(journal.head.reserved == 0);
}

TEST_CASE("without an oracle the shard that was mapped first goes first", "[cache]") {
  room_for_two of(4);
  cache& shards = *of.shards;
  for (const std::uint32_t i : {3U, 1U, 2U}) (void)shards.acquire(i);
  CHECK(files_in(of.root.path()) == std::vector<std::string>{"shard.00001.mds", "shard.00002.mds"});
}

TEST_CASE("what is held is not evicted; a prefetch is refused, an acquire waits", "[cache]") {
  room_for_two of(4, 2);
  cache& shards = *of.shards;
  mds::detail::shard_ref zero = shards.acquire(0);
  const mds::detail::shard_ref one = shards.acquire(1);
  answer ahead;
  shards.async_prefetch(2, {}, ahead.where, ahead.prefetch_handler());
  ahead.wait();
  CHECK(ahead.code == errc::cache_too_small);
  expect_error([&] { (void)shards.acquire(2); }, errc::cache_too_small, {"in use", "shard 2"});
  CHECK(of.data.is_right(0, zero.bytes()));

  answer waiting;
  shards.async_acquire(2, {}, waiting.where, waiting.handler());
  zero = {};
  waiting.wait();
  REQUIRE_FALSE(waiting.code);
  CHECK(of.data.is_right(2, waiting.ref.bytes()));
  CHECK(files_in(of.root.path()) == std::vector<std::string>{"shard.00001.mds", "shard.00002.mds"});
}

TEST_CASE("a prefetch displaces only what is needed later than itself", "[cache]") {
  room_for_two of(4);
  cache& shards = *of.shards;
  shards.set_next_use([](std::uint32_t shard, std::uint64_t) { return shard; });
  const auto prefetch = [&](std::uint32_t shard) {
    answer done;
    shards.async_prefetch(shard, {}, done.where, done.prefetch_handler());
    done.wait();
    return done.code;
  };
  CHECK_FALSE(prefetch(1));
  CHECK_FALSE(prefetch(3));
  CHECK_FALSE(prefetch(2));  // 3 is needed later, and goes
  CHECK(prefetch(3) == errc::cache_too_small);
  CHECK(files_in(of.root.path()) == std::vector<std::string>{"shard.00001.mds", "shard.00002.mds"});
}

TEST_CASE("a prefetch waits for what is needed once more before it", "[cache]") {
  room_for_two of(3);
  cache& shards = *of.shards;
  // Shard 0 is needed at 1 and never again, shard 1 at 9, shard 2, which is to come, at 5.
  std::atomic<std::uint64_t> now{0};
  shards.set_next_use([&](std::uint32_t shard, std::uint64_t from) -> std::uint64_t {
    const std::uint64_t use = shard == 0 ? 1 : shard == 1 ? 9 : 5;
    return use >= std::max(from, now.load()) ? use : mds::detail::never;
  });
  (void)shards.acquire(0);
  (void)shards.acquire(1);
  answer early, later;
  shards.async_prefetch(2, {}, early.where, early.prefetch_handler());
  early.wait();
  CHECK(early.code == errc::cache_too_small);
  now = 2;
  shards.async_prefetch(2, {}, later.where, later.prefetch_handler());
  later.wait();
  CHECK_FALSE(later.code);
  CHECK(files_in(of.root.path()) == std::vector<std::string>{"shard.00001.mds", "shard.00002.mds"});
}

TEST_CASE("a prefetch does not take the room for which one before it was refused", "[cache]") {
  room_for_two of(4, GENERATE(1, 4));
  cache& shards = *of.shards;
  // Shard 0 is needed at 1 and never again, shard 1 at 9. Shards 2 and 3 are to come, at 5 and 6:
  // when the second one is looked at, shard 0 is no longer needed.
  std::atomic<std::uint64_t> now{0};
  shards.set_next_use([&](std::uint32_t shard, std::uint64_t from) -> std::uint64_t {
    if (shard == 3) now = 2;
    const std::uint64_t use = shard == 0 ? 1 : shard == 1 ? 9 : 3 + shard;
    return use >= std::max(from, now.load()) ? use : mds::detail::never;
  });
  (void)shards.acquire(0);
  (void)shards.acquire(1);
  std::promise<void> go;
  const std::shared_future<void> gone = go.get_future().share();
  for (unsigned i = 0; i < of.threads.threads(); ++i) of.threads.post([gone] { gone.wait(); });
  now = 0;
  answer first, second;
  shards.async_prefetch(2, {}, first.where, first.prefetch_handler());
  shards.async_prefetch(3, {}, second.where, second.prefetch_handler());
  go.set_value();
  first.wait();
  second.wait();
  CHECK(first.code == errc::cache_too_small);
  CHECK(second.code == errc::cache_too_small);
  now = 2;
  answer again;
  shards.async_prefetch(2, {}, again.where, again.prefetch_handler());
  again.wait();
  CHECK_FALSE(again.code);
  CHECK(files_in(of.root.path()) == std::vector<std::string>{"shard.00001.mds", "shard.00002.mds"});
}

TEST_CASE("a refusal is none for what was asked for before it", "[cache]") {
  const dataset data({.shards = 3, .bytes = 4096});
  const faulty remote, slow;
  data.put(remote);
  data.put(slow);
  const scratch root;
  const auto options = options_of(root.path(), data.text().size() + 2 * 4112);
  mds::runtime threads(1), elsewhere(1);
  cache shards(threads, options, {stream_of(data, root.path(), remote)});
  cache other(elsewhere, options, {stream_of(data, root.path(), slow)});
  const mds::detail::shard_ref held = shards.acquire(1);
  std::promise<void> begun, go;
  slow.control().before = [&](std::string_view) {
    begun.set_value();
    go.get_future().wait();
  };
  answer fetched, first, second;
  other.async_acquire(0, {}, fetched.where, fetched.handler());
  begun.get_future().wait();
  shards.async_prefetch(0, {}, first.where, first.prefetch_handler());
  shards.async_prefetch(2, {}, second.where, second.prefetch_handler());
  second.wait();
  CHECK(second.code == errc::cache_too_small);
  // The first one has looked again when a timer that is longer than its pause has come.
  std::promise<void> looked;
  threads.after(25ms, {}, [&](std::error_code) { threads.post([&] { looked.set_value(); }); });
  looked.get_future().wait();
  go.set_value();
  fetched.wait();
  first.wait();
  CHECK_FALSE(fetched.code);
  CHECK_FALSE(first.code);
  CHECK(remote.reads() == 1);
}

TEST_CASE("a request ahead that becomes urgent is not refused", "[cache]") {
  const dataset data({.shards = 3, .bytes = 4096});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(2);
  cache shards(threads, options_of(root.path(), data.text().size() + 4112),
               {stream_of(data, root.path(), remote)});
  shards.set_next_use([](std::uint32_t shard, std::uint64_t) { return shard; });
  for (int round = 0; round < 50; ++round) {
    (void)shards.acquire(0);
    answer ahead;
    shards.async_prefetch(2, {}, ahead.where, ahead.prefetch_handler());
    CHECK(data.is_right(2, shards.acquire(2).bytes()));
    ahead.wait();
  }
}

TEST_CASE("a limit below what one shard takes names the smallest that works", "[cache]") {
  const bool keep_zip = GENERATE(false, true);
  const dataset data({.shards = 3, .bytes = 4096, .zipped = true});
  const scratch root;
  mds::runtime threads(1);
  auto stream = stream_of(data, root.path(), memory());
  stream.keep_zip = keep_zip;
  const std::uint64_t zip = keep_zip ? data.zip(2).size() : 0;
  const std::uint64_t smallest = data.text().size() + 4112 + zip;
  expect_error([&] { cache(threads, options_of(root.path(), smallest - 1), {stream}); },
               errc::cache_too_small, {"smallest that works is " + std::to_string(smallest)});
  cache enough(threads, options_of(root.path(), smallest), {stream});
  CHECK(enough.may_hold(4112 + zip));
  CHECK_FALSE(enough.may_hold(4113 + zip));
}

TEST_CASE("a cancelled request ends alone, the last one ends the fetch", "[cache]") {
  const dataset data({.shards = 2});
  const faulty remote;
  data.put(remote);
  std::promise<void> entered, release;
  std::shared_future<void> released = release.get_future().share();
  std::atomic<int> entries{0};
  remote.control().before = [&](std::string_view) {
    if (entries++ == 0) {
      entered.set_value();
      released.wait();
    }
  };
  const scratch root;
  mds::runtime threads(2);
  cache shards(threads, options_of(root.path()), {stream_of(data, root.path(), remote)});
  std::stop_source first_stop, second_stop;
  answer first, second, third;
  shards.async_acquire(0, first_stop.get_token(), first.where, first.handler());
  entered.get_future().wait();
  shards.async_acquire(0, second_stop.get_token(), second.where, second.handler());
  first_stop.request_stop();
  first.wait();
  CHECK(first.code == errc::canceled);
  second_stop.request_stop();
  second.wait();
  CHECK(second.code == errc::canceled);
  shards.async_acquire(0, {}, third.where, third.handler());  // begins anew
  release.set_value();
  third.wait();
  REQUIRE_FALSE(third.code);
  CHECK(data.is_right(0, third.ref.bytes()));

  std::stop_source before;
  before.request_stop();
  answer never;
  shards.async_acquire(1, before.get_token(), never.where, never.handler());
  never.wait();
  CHECK(never.code == errc::canceled);
  CHECK(never.where.what == "the request was cancelled");
}

TEST_CASE("a cache that ends cancels what is under way, and references outlive it", "[cache]") {
  const dataset data({.shards = 8});
  const faulty remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(2);
  mds::detail::shard_ref kept;
  std::vector<std::unique_ptr<answer>> asked;
  {
    cache shards(threads, options_of(root.path()), {stream_of(data, root.path(), remote)});
    kept = shards.acquire(0);
    remote.control().delay = 5ms;  // some are on their way at the end; none has to be
    for (std::uint32_t i = 1; i < 8; ++i) {
      asked.push_back(std::make_unique<answer>());
      shards.async_acquire(i, {}, asked.back()->where, asked.back()->handler());
    }
  }
  for (const auto& each : asked) {
    each->wait();
    CHECK((each->code == errc::canceled || !each->code));
  }
  CHECK(data.is_right(0, kept.bytes()));
}

TEST_CASE("many threads share a cache that holds a third of the data", "[cache]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  const dataset data({.shards = 24, .bytes = 2048, .zipped = true});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(2);
  const std::uint64_t limit = data.text().size() + 8 * 2064;
  cache shards(threads, options_of(root.path(), limit), {stream_of(data, root.path(), remote)});
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (unsigned t = 0; t < 4; ++t) {
    readers.emplace_back([&, t] {
      std::mt19937 random(seed + t);
      for (int i = 0; i < 200; ++i) {
        const auto shard = static_cast<std::uint32_t>(random() % 24);
        const mds::detail::shard_ref ref = shards.acquire(shard);
        const mds::detail::shard_ref copy = ref;
        if (!data.is_right(shard, copy.bytes())) ++wrong;
      }
    });
  }
  for (std::thread& each : readers) each.join();
  CHECK(wrong == 0);
  CHECK(bytes_in(root.path()) <= limit);
  CHECK(*shards.usage() == bytes_in(root.path()));
}

TEST_CASE("a small number of mappings is kept to", "[cache]") {
  const dataset data({.shards = 40});
  const memory remote;
  data.put(remote);
  const scratch root;
  mds::runtime threads(1);
  auto options = options_of(root.path());
  options.max_mappings = 5;
  cache shards(threads, options, {stream_of(data, root.path(), remote)});
  const auto mapped = [&] {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < 40; ++i) count += shards.try_acquire(i) ? 1 : 0;
    return count;
  };
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(data.is_right(i, shards.acquire(i).bytes()));
  CHECK(mapped() <= 5);
  std::vector<mds::detail::shard_ref> held;
  for (std::uint32_t i = 0; i < 10; ++i) held.push_back(shards.acquire(i));  // more than allowed
  CHECK(mapped() >= 10);
}

}  // namespace shard_cache_test
