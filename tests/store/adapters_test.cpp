// The adapters around stores, alone and around each other.

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/store/any_store.hpp>
#include <mdstream/store/detail/ranged_read.hpp>
#include <mdstream/store/detail/streamed_read.hpp>
#include <mdstream/store/fault_injecting.hpp>
#include <mdstream/store/hedged.hpp>
#include <mdstream/store/limited.hpp>
#include <mdstream/store/local.hpp>
#include <mdstream/store/memory.hpp>
#include <mdstream/store/metered.hpp>
#include <mdstream/store/prefixed.hpp>
#include <mdstream/store/retrying.hpp>
#include <mdstream/store/throttled.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "store/conformance.hpp"
#include "store/forwarding.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace adapters_test {

namespace mds = mdstream;
using mds::errc;
using mds::store_fault;
using mds::store::memory;
using support::expect_error;
using namespace std::chrono_literals;

using inner_store = mds::blocking<memory>;

inner_store inner(mds::runtime& threads) { return {threads, memory()}; }

mds::retry_policy quickly(unsigned attempts) { return {.attempts = attempts, .pause = 10us}; }

TEST_CASE("every adapter conforms", "[store]") {
  mds::runtime threads(2);
  conformance::check_store(mds::retrying(threads, inner(threads), quickly(2)));
  conformance::check_store(mds::limited(inner(threads), 1));
  conformance::check_store(mds::throttled(threads, inner(threads), {.calls_per_second = 1e6}));
  conformance::check_store(mds::metered(inner(threads)));
  conformance::check_store(mds::adaptive(inner(threads), {.most = 2}));
  conformance::check_store(mds::hedged(threads, inner(threads)));
  conformance::check_store(mds::prefixed(inner(threads), "a/b/"));
  conformance::check_store(mds::prefixed(inner(threads), ""));
  conformance::check_store(mds::detail::prefixed_store(inner(threads), "a/b/"));
  conformance::check_store(mds::detail::prefixed_store(memory(), "a/b/"));
  conformance::check_store(mds::detail::prefixed_store(memory(), "a").on(threads));
  conformance::check_store(mds::fault_injecting(threads, inner(threads), {}));
}

TEST_CASE("adapters compose, as templates and as values", "[store]") {
  mds::runtime threads(2);
  const auto all = mds::metered(mds::retrying(
      threads,
      mds::limited(mds::adaptive(mds::hedged(
                       threads, mds::fault_injecting(threads, mds::prefixed(inner(threads), "p"),
                                                     {.chance = 0.0, .seed = 1}))),
                   4),
      quickly(3)));
  conformance::check_store(mds::any_async_store(all));
  CHECK(all.metrics().calls > 0);
  CHECK(all.metrics().in_flight == 0);
  conformance::check_store(mds::any_store<mds::store::local>(
      mds::retrying(threads, mds::any_async_store(inner(threads)), quickly(2))));
}

TEST_CASE("a fault at every call is repeated away", "[store]") {
  const store_fault what =
      GENERATE(store_fault::unavailable, store_fault::reset, store_fault::stall);
  mds::runtime threads(2);
  for (std::uint64_t at = 0; at < 8; ++at) {
    const mds::fault_injecting faulty(threads, inner(threads),
                                      {.script = {{at, what}}, .stall = 10us});
    const mds::retrying store(threads, faulty, quickly(2));
    const std::vector<std::byte> bytes = conformance::noise(500, 7);
    mds::store_write(store, "x", bytes);
    CHECK(mds::read_all(store, "x") == bytes);
    CHECK(mds::store_list(store, "").size() == 1);
    mds::store_remove(store, "x");
    CHECK_FALSE(mds::exists(store, "x"));
    CHECK(faulty.faults() == (at < faulty.calls() ? 1 : 0));
  }
}

TEST_CASE("attempts end, and the last one says why", "[store]") {
  mds::runtime threads(1);
  const mds::fault_injecting faulty(
      threads, inner(threads),
      {.script = {
           {0, store_fault::reset}, {1, store_fault::reset}, {2, store_fault::unavailable}}});
  const mds::retrying store(threads, faulty, quickly(3));
  expect_error([&] { mds::store_write(store, "x", {}); }, errc::unavailable,
               {"injected: unavailable", "x"});
  CHECK(faulty.calls() == 3);
  expect_error([&] { (void)mds::store_size(store, "absent"); }, errc::not_found);
  CHECK(faulty.calls() == 4);
}

TEST_CASE("a store that only fails is not asked many times over", "[store]") {
  mds::runtime threads(2);
  const mds::fault_injecting faulty(threads, inner(threads),
                                    {.chance = 1.0, .kinds = {store_fault::unavailable}});
  const mds::retrying store(threads, faulty, quickly(10), mds::detail::retry_budget(5, 0.5));
  for (int i = 0; i < 20; ++i) {
    expect_error([&] { mds::store_write(store, "x", {}); }, errc::unavailable,
                 {"injected: unavailable", "the retry budget is spent"});
  }
  CHECK(faulty.calls() == 20 + 5);
}

TEST_CASE("a store that refuses every call at first is asked on", "[store]") {
  mds::runtime threads(2);
  std::map<std::uint64_t, store_fault> every_other;
  for (std::uint64_t i = 0; i < 1000; i += 2) every_other[i] = store_fault::unavailable;
  const mds::fault_injecting faulty(threads, inner(threads), {.script = every_other});
  const mds::retrying store(threads, faulty, quickly(2), mds::detail::retry_budget(1, 0));
  for (int i = 0; i < 500; ++i) mds::store_write(store, "x", {});
  CHECK(faulty.faults() == 500);
}

TEST_CASE("a repetition that the store asked for takes nothing of the budget", "[store]") {
  const mds::detail::shared_retry_budget budget(mds::detail::retry_budget(1, 0));
  mds::detail::call_attempts call({.attempts = 100, .pause = 1s, .longest = 10s}, budget);
  mds::diagnostics where{.what = "503", .retry_after = 9s};
  CHECK(call.pause_after(errc::unavailable, where) >= 9s);
  CHECK(call.pause_after(errc::unavailable, where) >= 9s);
  where.retry_after.reset();
  CHECK(call.pause_after(errc::unavailable, where));
  CHECK(where.what == "503");
  CHECK_FALSE(call.pause_after(errc::unavailable, where));
  CHECK(where.what == "503; the retry budget is spent");
  call.led_on();
  call.led_on();                                      // gives back what was taken, once
  CHECK(call.pause_after(errc::unavailable, where));  // goes on behind what came: takes nothing
  CHECK(call.pause_after(errc::unavailable, where));
  CHECK_FALSE(call.pause_after(errc::unavailable, where));
}

TEST_CASE("a store that wants to be asked sooner than the policy asks, or later, is no free one",
          "[store]") {
  for (const auto asked : {0ms, 900ms, 3'600'000ms}) {
    INFO(asked.count() << " ms");
    const mds::detail::shared_retry_budget budget(mds::detail::retry_budget(2, 0));
    mds::detail::call_attempts call({.attempts = 100, .pause = 1s, .longest = 10s}, budget);
    mds::diagnostics where{.retry_after = asked};
    CHECK(call.pause_after(errc::unavailable, where));
    CHECK(call.pause_after(errc::unavailable, where));
    CHECK_FALSE(call.pause_after(errc::unavailable, where));
  }
}

TEST_CASE("pauses that are decorrelated grow from one to the next, and begin anew where bytes came",
          "[store]") {
  const mds::retry_policy policy{
      .attempts = 100, .pause = 1s, .longest = 1h, .jitter = mds::retry_jitter::decorrelated};
  mds::diagnostics where;
  auto longest = std::chrono::nanoseconds(0);
  // One call in 700 has short pauses alone.
  for (int calls = 0; calls < 10 && longest <= 1min; ++calls) {
    mds::detail::call_attempts call(policy, {});
    for (int i = 0; i < 60; ++i)
      longest = std::max(longest, *call.pause_after(errc::io_error, where));
    call.led_on();
    CHECK(call.pause_after(errc::io_error, where) <= 3s);
  }
  CHECK(longest > 1min);
}

TEST_CASE("what is final is not repeated", "[store]") {
  mds::detail::call_attempts call({.attempts = 9}, {});
  mds::diagnostics where{.is_final = true};
  CHECK_FALSE(call.pause_after(errc::unavailable, where));
  where.is_final = false;
  CHECK(call.pause_after(errc::unavailable, where));
}

TEST_CASE("seeded faults in every tenth call, and every byte right", "[store]") {
  mds::runtime threads(4);
  const mds::fault_injecting faulty(threads, inner(threads),
                                    {.chance = 0.1, .seed = 42, .stall = 50us});
  const mds::retrying store(threads, faulty, quickly(8));
  std::map<std::string, std::vector<std::byte>> expected;
  for (unsigned i = 0; i < 50; ++i) {
    expected[std::to_string(i)] = conformance::noise(1000 + i, i);
    mds::store_write(store, std::to_string(i), expected[std::to_string(i)]);
  }
  unsigned wrong = 0;
  for (int round = 0; round < 10; ++round) {
    for (const auto& [key, bytes] : expected) {
      std::vector<std::byte> got(bytes.size());
      std::size_t done = 0;  // short reads are answers, which the reader sees
      while (done < got.size()) {
        done += mds::store_read(store, key, done, std::span(got).subspan(done));
      }
      wrong += got == bytes ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(faulty.faults() > 20);
}

/// Teaches the store how long its calls take.
template <class S>
void read_often(const S& store, int times) {
  for (int i = 0; i < times; ++i) {
    (void)mds::store_size(store, "x");
    (void)mds::read_all(store, "x");
  }
}

TEST_CASE("a read that stalls is overtaken by a second one, in the caller's memory", "[store]") {
  mds::runtime threads(2);
  memory objects;
  const auto bytes = conformance::noise(1000, 3);
  objects.write("x", bytes);
  mds::fault_plan plan{.stall = 1h};
  plan.script[200] = store_fault::stall;  // a size
  plan.script[203] = store_fault::stall;  // a read, whose second one is call 204
  const mds::fault_injecting faulty(threads, mds::blocking<memory>(threads, objects), plan);
  const mds::hedged store(threads, faulty, {.least = 6s});  // no other call takes so long
  read_often(store, 99);                                    // 198 calls
  (void)mds::store_size(store, "x");
  (void)mds::store_size(store, "x");
  CHECK(store.seconds() == 0);
  CHECK(mds::store_size(store, "x") == 1000);
  CHECK(store.seconds() == 1);
  std::vector<std::byte> got(1000);
  CHECK(mds::store_size(store, "x") == 1000);
  CHECK(mds::store_read(store, "x", 0, got) == 1000);
  CHECK(got == bytes);
  CHECK(store.seconds() == 2);
}

TEST_CASE("a second read that fails leaves the first one's answer, and a stop ends both",
          "[store]") {
  mds::runtime threads(2);
  memory objects;
  objects.write("x", mds::as_bytes("content"));
  mds::fault_plan plan{.stall = 12s};
  plan.script[100] = store_fault::stall;
  plan.script[101] = store_fault::unavailable;
  const mds::fault_injecting faulty(threads, mds::blocking<memory>(threads, objects), plan);
  const mds::hedged store(threads, faulty, {.least = 3s});
  read_often(store, 50);
  std::vector<std::byte> got(7);
  CHECK(mds::store_read(store, "x", 0, got) == 7);
  CHECK(mds::as_text(mds::bytes_view(got)) == "content");
  CHECK(store.seconds() == 1);

  mds::fault_plan endless{.stall = 1h};
  endless.script[100] = endless.script[101] = store_fault::stall;
  const mds::hedged slow(
      threads, mds::fault_injecting(threads, mds::blocking<memory>(threads, objects), endless),
      {.least = 3s});
  read_often(slow, 50);
  std::stop_source stop;
  mds::diagnostics where;
  std::promise<std::error_code> ended;
  std::thread stopper([&] {
    while (slow.seconds() == 0) std::this_thread::yield();
    stop.request_stop();
  });
  slow.async_read("x", 0, got, stop.get_token(), where,
                  [&](std::error_code code, std::size_t) { ended.set_value(code); });
  const std::error_code code = ended.get_future().get();
  stopper.join();
  CHECK((!code || code == errc::canceled));  // a stall that is stopped is a call that is made
}

TEST_CASE("an adaptive store holds calls back while it is overloaded, and lets them in again",
          "[store]") {
  mds::runtime threads(2);
  mds::fault_plan plan;
  for (std::uint64_t i = 0; i < 12; ++i) plan.script[i] = store_fault::unavailable;
  const mds::adaptive store(mds::fault_injecting(threads, inner(threads), plan), {.most = 16});
  CHECK(store.limit() == 16);
  for (int i = 0; i < 12; ++i) {
    try {
      mds::store_write(store, "x", mds::as_bytes("content"));
    } catch (const mds::error&) {
    }
  }
  while (store.in_flight() != 0) std::this_thread::yield();  // a call counts until it has told
  CHECK(store.limit() == 1);
  mds::store_write(store, "x", mds::as_bytes("content"));
  read_often(store, 100);
  while (store.in_flight() != 0) std::this_thread::yield();
  CHECK(store.limit() == 16);
}

/// Counts how many reads run side by side.
struct crowded : memory {
  static constexpr int limit = 3;
  std::atomic<int>* now = nullptr;
  std::atomic<int>* most = nullptr;
  std::atomic<int>* patience = nullptr;
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    const int count = ++*now;
    int seen = most->load();
    while (count > seen && !most->compare_exchange_weak(seen, count)) {
    }
    // Until there are as many as may be, and some time for others to come in, were they let.
    while (*most < limit && --*patience > 0) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(1ms);
    --*now;
    return memory::read(key, offset, into);
  }
};

TEST_CASE("a limit on calls under way is kept, and all are made", "[store]") {
  mds::runtime threads(8);
  std::atomic<int> now{0}, most{0}, patience{30'000};
  crowded objects;
  objects.now = &now;
  objects.most = &most;
  objects.patience = &patience;
  objects.write("x", mds::as_bytes("content"));
  const mds::limited store(mds::blocking<crowded>(threads, objects), crowded::limit);
  std::vector<std::thread> readers;
  std::atomic<int> right{0};
  for (int i = 0; i < 16; ++i) {
    readers.emplace_back([&] { right += mds::read_all(store, "x").size() == 7 ? 1 : 0; });
  }
  for (std::thread& each : readers) each.join();
  CHECK(right == 16);
  CHECK(most == crowded::limit);
  while (store.in_flight() != 0) std::this_thread::yield();  // a call counts until it has told
}

/// Completes every call before it returns.
struct immediate {
  void async_size(std::string, std::stop_token, mds::diagnostics&,
                  mds::store_handler<std::uint64_t> done) const {
    done({}, 1);
  }
  void async_read(std::string, std::uint64_t, mds::mutable_bytes, std::stop_token,
                  mds::diagnostics&, mds::store_handler<std::size_t> done) const {
    done({}, 0);
  }
  void async_write(std::string, mds::bytes_view, std::stop_token, mds::diagnostics&,
                   mds::store_handler<> done) const {
    done({});
  }
  void async_list(std::string, std::stop_token, mds::diagnostics&,
                  mds::store_handler<std::vector<mds::object_info>> done) const {
    done({}, {});
  }
  void async_remove(std::string, std::stop_token, mds::diagnostics&,
                    mds::store_handler<> done) const {
    done({});
  }
  [[nodiscard]] std::string url(std::string_view) const { return "(immediate)"; }
};

/// Keeps its first call until its end, which waits for that call on another thread.
struct ends_late : immediate {
  struct kept {
    kept() = default;
    kept(const kept&) = delete;
    kept& operator=(const kept&) = delete;
    ~kept() {
      if (first) std::thread([&] { first({}, 1); }).join();
    }
    mds::store_handler<std::uint64_t> first{};
  };
  std::shared_ptr<kept> call = std::make_shared<kept>();

  void async_size(std::string, std::stop_token, mds::diagnostics&,
                  mds::store_handler<std::uint64_t> done) const {
    if (call->first) return done({}, 1);
    call->first = std::move(done);
  }
};

/// Completes a size when it is stopped, within the stop.
struct ends_in_stop : immediate {
  struct kept {
    mds::store_handler<std::uint64_t> done;
    std::optional<std::stop_callback<std::function<void()>>> on_stop{};
  };
  void async_size(std::string, std::stop_token stop, mds::diagnostics&,
                  mds::store_handler<std::uint64_t> done) const {
    auto call = std::make_shared<kept>(std::move(done));
    call->on_stop.emplace(std::move(stop), [weak = std::weak_ptr(call), slot = all] {
      const auto one = weak.lock();
      slot->clear();
      one->done(errc::canceled, 0);
    });
    all->push_back(std::move(call));
  }
  std::shared_ptr<std::vector<std::shared_ptr<kept>>> all =
      std::make_shared<std::vector<std::shared_ptr<kept>>>();
};

TEST_CASE("a call that ends within its stop may be hedged", "[store]") {
  mds::runtime threads(1);
  const mds::hedged store(threads, ends_in_stop());
  std::stop_source stop;
  mds::diagnostics where;
  std::error_code code;
  store.async_size("x", stop.get_token(), where,
                   [&](std::error_code c, std::uint64_t) { code = c; });
  stop.request_stop();
  CHECK(code == errc::canceled);
}

TEST_CASE("a stop ends a call that waits for others, and leaves those", "[store]") {
  const ends_late inside;
  const mds::limited store(inside, 1);
  mds::diagnostics where[3];
  std::error_code codes[3] = {errc::io_error, errc::io_error, errc::io_error};
  const auto stop = std::make_unique<std::stop_source>();
  const auto ask = [&](int which, std::stop_token with) {
    store.async_size("x", std::move(with), where[which],
                     [&, which](std::error_code c, std::uint64_t) { codes[which] = c; });
  };
  ask(0, {});
  ask(1, stop->get_token());
  ask(2, {});
  CHECK(codes[1] == errc::io_error);
  stop->request_stop();
  CHECK(codes[1] == errc::canceled);
  CHECK(where[1].what.find("waited") != std::string::npos);
  CHECK(codes[2] == errc::io_error);
  ask(1, stop->get_token());  // stopped before it comes
  CHECK(codes[1] == errc::canceled);
  CHECK(store.in_flight() == 1);
  std::exchange(inside.call->first, {})({}, 1);
  CHECK_FALSE(codes[0]);
  CHECK(codes[2] == errc::io_error);  // its turn has come
  std::exchange(inside.call->first, {})({}, 1);
  CHECK_FALSE(codes[2]);
  CHECK(store.in_flight() == 0);
}

TEST_CASE("stops and turns that come at the same time end each call once", "[store]") {
  mds::runtime threads(4);
  const mds::limited store(inner(threads), 1);
  for (int round = 0; round < 200; ++round) {
    std::stop_source stop;
    std::vector<mds::diagnostics> where(8);
    std::atomic<int> ended{0};
    mds::detail::one_time_event over;
    for (auto& each : where) {
      store.async_size("x", stop.get_token(), each, [&](std::error_code, std::uint64_t) {
        if (++ended == 8) over.set();
      });
    }
    stop.request_stop();
    over.wait();
    CHECK(ended == 8);
  }
}

TEST_CASE("a long queue before a store that completes at once needs no deep stack", "[store]") {
  const mds::limited store(immediate(), 1);
  mds::diagnostics where;
  int completed = 0;
  store.async_size("first", {}, where, [&](std::error_code, std::uint64_t) {
    for (int i = 0; i < 200'000; ++i) {
      store.async_size("x", {}, where, [&](std::error_code, std::uint64_t) { ++completed; });
    }
  });
  CHECK(completed == 200'000);
  CHECK(store.in_flight() == 0);
}

/// Keeps the thread that calls it until another one calls it too.
struct meeting : immediate {
  std::atomic<int>* entered = nullptr;
  mds::detail::one_time_event* both = nullptr;
  void async_size(std::string, std::stop_token, mds::diagnostics&,
                  mds::store_handler<std::uint64_t> done) const {
    if (++*entered == 2) both->set();
    done({}, both->wait_for(std::chrono::seconds(60)) ? 1 : 0);
  }
};

TEST_CASE("a thread whose call takes long to begin does not hold up those of others", "[store]") {
  std::atomic<int> entered{0};
  mds::detail::one_time_event both;
  meeting inside;
  inside.entered = &entered;
  inside.both = &both;
  const mds::limited store(inside, 4);
  std::atomic<int> met{0};
  const auto call = [&] { met += mds::store_size(store, "x") == 1 ? 1 : 0; };
  std::thread other(call);
  call();
  other.join();
  CHECK(met == 2);
}

/// Completes every call on another thread before it returns.
struct elsewhere : immediate {
  void async_size(std::string, std::stop_token, mds::diagnostics&,
                  mds::store_handler<std::uint64_t> done) const {
    std::thread([&] { done({}, 1); }).join();
  }
};

TEST_CASE("a completion may drop the last of a limited store before its call has returned",
          "[store]") {
  mds::diagnostics where, other;
  int ended = 0;
  auto store = std::make_unique<mds::limited>(elsewhere(), 1);
  store->async_size("x", {}, where, [&](std::error_code, std::uint64_t) {
    ++ended;
    store.reset();
  });
  CHECK(ended == 1);
  CHECK(store == nullptr);

  auto late = std::make_unique<mds::limited>(ends_late(), 2);
  late->async_size("kept", {}, where, [&](std::error_code, std::uint64_t) { ++ended; });
  CHECK(ended == 1);
  late->async_size("x", {}, other, [&](std::error_code, std::uint64_t) {
    ++ended;
    late.reset();
  });
  CHECK(ended == 3);
}

/// Says that it streams, and cannot.
struct boasting : immediate {
  [[nodiscard]] bool streams() const { return true; }
};

/// Streams; what its `streams` counts is its own affair.
struct counting_streams : immediate {
  void async_stream(std::string, std::optional<mds::object_version>, std::uint64_t, std::uint64_t,
                    const mds::byte_taker&, std::stop_token, mds::diagnostics&,
                    mds::store_handler<mds::object_version> done) const {
    done({}, {});
  }
  [[nodiscard]] int streams() const { return 0; }
};

TEST_CASE("whether a store streams is asked of those that can", "[store]") {
  mds::runtime threads(1);
  const auto streams = [&](const auto& store) {
    const mds::limited within(store, 1);
    const mds::any_async_store any(store), both(within);
    const bool all = mds::can_stream(store);
    CHECK(mds::can_stream(within) == all);
    CHECK(mds::can_stream(mds::retrying(threads, mds::hedged(threads, store), quickly(2))) == all);
    CHECK(mds::can_stream(mds::metered(mds::prefixed(store, "p"))) == all);
    CHECK(mds::can_stream(mds::throttled(threads, store, {})) == all);
    CHECK(any.streams() == all);
    CHECK(both.streams() == all);
    return all;
  };
  CHECK_FALSE(streams(boasting()));
  CHECK(streams(counting_streams()));
  CHECK_FALSE(streams(immediate()));
  CHECK_FALSE(mds::can_stream(mds::limited(mds::any_async_store(boasting()), 1)));
}

/// Streams the key, and breaks off behind it.
struct breaking_stream : immediate {
  void async_stream(std::string key, std::optional<mds::object_version>, std::uint64_t,
                    std::uint64_t, const mds::byte_taker& take, std::stop_token, mds::diagnostics&,
                    mds::store_handler<mds::object_version> done) const {
    ++*asked;
    take({.bytes = 3}, mds::as_bytes(key));
    done(errc::unavailable, {});
  }
  std::shared_ptr<int> asked = std::make_shared<int>(0);
};

TEST_CASE("a stream passes through adapters once, and its bytes are counted", "[store]") {
  mds::runtime threads(1);
  const breaking_stream inside;
  const mds::metered store(mds::retrying(
      threads, mds::adaptive(mds::hedged(threads, mds::prefixed(inside, "p"))), quickly(9)));
  std::string got;
  mds::diagnostics where;
  std::error_code code;
  store.async_stream(
      "x", {}, 0, 3,
      [&](const mds::object_version&, mds::bytes_view some) { got += mds::as_text(some); }, {},
      where, [&](std::error_code c, const mds::object_version&) { code = c; });
  CHECK(code == errc::unavailable);
  CHECK(got == "p/x");
  CHECK(*inside.asked == 1);
  CHECK(store.metrics().bytes_read == 3);
}

/// Is too busy for every call, as which a stop comes.
struct busy_as_stopped : immediate {
  void async_read(std::string, std::uint64_t, mds::mutable_bytes, std::stop_token,
                  mds::diagnostics&, mds::store_handler<std::size_t> done) const {
    stop->request_stop();
    done(errc::unavailable, 0);
  }
  void async_stream(std::string, std::optional<mds::object_version>, std::uint64_t, std::uint64_t,
                    const mds::byte_taker&, std::stop_token, mds::diagnostics&,
                    mds::store_handler<mds::object_version> done) const {
    stop->request_stop();
    done(errc::unavailable, {});
  }
  std::shared_ptr<std::stop_source> stop = std::make_shared<std::stop_source>();
};

TEST_CASE("a call that fails as it is stopped is canceled, however it repeats what fails",
          "[store]") {
  mds::runtime threads(1);
  std::vector<std::byte> into(3);
  SECTION("as a whole") {
    const busy_as_stopped store;
    const mds::retrying patient(threads, store, quickly(9));
    const auto read = [&](auto& where, auto done) {
      patient.async_read("x", 0, into, store.stop->get_token(), where, std::move(done));
    };
    expect_error([&] { mds::detail::wait_for<std::size_t>(read); }, errc::canceled);
  }
  SECTION("by ranges") {
    const busy_as_stopped store;
    const auto read = [&](auto& where, auto done) {
      mds::detail::async_read_ranges(threads, store, "x", {.bytes = into.size()}, into,
                                     {.range_bytes = 1, .retry = quickly(9)},
                                     store.stop->get_token(), where, std::move(done));
    };
    expect_error([&] { mds::detail::wait_for<>(read); }, errc::canceled);
  }
  SECTION("as a stream") {
    const busy_as_stopped store;
    const auto read = [&](auto& where, auto done) {
      mds::detail::async_stream_resumed(
          threads, store, "x", into.size(), [](const auto&, mds::bytes_view) {}, quickly(9), {},
          store.stop->get_token(), where, std::move(done));
    };
    expect_error([&] { mds::detail::wait_for<mds::object_version>(read); }, errc::canceled);
  }
}

/// Counts the reads and writes that come without having been stopped.
struct counting_calls : immediate {
  void async_read(std::string, std::uint64_t, mds::mutable_bytes into, std::stop_token stop,
                  mds::diagnostics&, mds::store_handler<std::size_t> done) const {
    if (stop.stop_requested()) return done(errc::canceled, 0);
    ++*came;
    done({}, into.size());
  }
  void async_write(std::string, mds::bytes_view, std::stop_token, mds::diagnostics&,
                   mds::store_handler<> done) const {
    ++*came;
    done({});
  }
  std::shared_ptr<int> came = std::make_shared<int>(0);
};

TEST_CASE("a rate is kept", "[store]") {
  mds::runtime threads(1);
  const counting_calls inside;
  std::vector<std::byte> some(10'000);
  mds::throttle_rates rates;
  SECTION("of bytes") { rates = {.bytes_per_second = 10, .burst_seconds = 1000}; }
  SECTION("of calls") { rates = {.calls_per_second = 0.001, .burst_seconds = 1000}; }
  const mds::throttled store(threads, inside, rates);
  // The burst, and one call that is let through on credit: the next is due in 1000 seconds.
  mds::store_write(store, "x", some);
  CHECK(mds::store_read(store, "x", 0, some) == some.size());
  CHECK(*inside.came == 2);
  std::stop_source stop;
  mds::diagnostics where;
  std::promise<std::error_code> ended;
  store.async_read("x", 0, some, stop.get_token(), where,
                   [&](std::error_code code, std::size_t) { ended.set_value(code); });
  CHECK(*inside.came == 2);
  stop.request_stop();
  CHECK(ended.get_future().get() == errc::canceled);
  CHECK(*inside.came == 2);
}

TEST_CASE("what waits for a rate goes on", "[store]") {
  mds::runtime threads(2);
  const mds::throttled store(threads, inner(threads),
                             {.bytes_per_second = 1e6, .burst_seconds = 0.01});
  mds::store_write(store, "x", std::vector<std::byte>(10'000));
  std::vector<std::byte> into(10'000);
  for (int i = 0; i < 6; ++i) CHECK(mds::store_read(store, "x", 0, into) == 10'000);
}

TEST_CASE("what a store did is counted", "[store]") {
  mds::runtime threads(1);
  const mds::metered store(inner(threads));
  const auto copy = store;
  mds::store_write(store, "x", std::vector<std::byte>(100));
  std::vector<std::byte> into(300);
  mds::store_read(copy, "x", 50, into);
  CHECK_FALSE(mds::exists(store, "absent"));
  const mds::store_metrics seen = store.metrics();
  CHECK(seen.calls == 3);
  CHECK(seen.failures == 1);
  CHECK(seen.bytes_written == 100);
  CHECK(seen.bytes_read == 50);
  CHECK(seen.busy > 0ns);
}

TEST_CASE("a prefix is a store of its own", "[store]") {
  mds::runtime threads(1);
  const memory objects;
  const mds::prefixed store(inner_store(threads, objects), "a/b");
  mds::store_write(store, "x", {});
  objects.write("a/bc", {});
  CHECK(objects.size("a/b/x") == 0);
  CHECK(conformance::keys_of(store, "") == std::vector<std::string>{"x"});
  CHECK(store.url("x") == "(memory)/a/b/x");
  CHECK(store.url("") == "(memory)/a/b");
  expect_error([&] { mds::prefixed(inner_store(threads, objects), "../x"); },
               errc::invalid_argument);
}

// An asynchronous store with tags, which only its own calls show.
struct tagged : store_test::forwarding<inner_store> {
  void async_version(std::string, std::stop_token, mds::diagnostics&,
                     mds::store_handler<mds::object_version> done) const {
    done({}, {.bytes = 3, .tag = "\"t\""});
  }
  void async_read_version(std::string key, const mds::object_version& held, std::uint64_t offset,
                          mds::mutable_bytes into, std::stop_token stop, mds::diagnostics& where,
                          mds::store_handler<std::size_t> done) const {
    if (held.tag != "\"t\"") return done(errc::corrupt, 0);
    async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
};

void check_versions(const mds::any_async_store& store, const std::string& key,
                    const std::string& tag) {
  const auto found = mds::detail::wait_for<mds::object_version>(
      [&](auto& where, auto done) { store.async_version(key, {}, where, std::move(done)); });
  CHECK(found == mds::object_version{3, tag});
  std::vector<std::byte> into(3);
  const auto read = [&](const mds::object_version& held) {
    return mds::detail::wait_for<std::size_t>([&](auto& where, auto done) {
      store.async_read_version(key, held, 0, into, {}, where, std::move(done));
    });
  };
  CHECK(read(found) == 3);
  if (!tag.empty()) expect_error([&] { read({3, "\"other\""}); }, errc::corrupt);
}

TEST_CASE("versions pass through every adapter, and are sizes where a store has no tags",
          "[store]") {
  mds::runtime threads(2);
  const memory objects;
  objects.write("a/b", conformance::noise(3, 1));
  const tagged store{{inner_store(threads, objects)}};
  check_versions(store, "a/b", "\"t\"");
  check_versions(mds::any_store<mds::store::local>(store).on(threads), "a/b", "\"t\"");
  check_versions(mds::prefixed(store, "a"), "b", "\"t\"");
  check_versions(mds::retrying(threads, mds::limited(store, 1), quickly(2)), "a/b", "\"t\"");
  check_versions(inner_store(threads, objects), "a/b", "");
}

/// Has no `create`.
class memory_without_create {
 public:
  explicit memory_without_create(memory objects = {}) : objects_(std::move(objects)) {}

  [[nodiscard]] std::uint64_t size(std::string_view key) const { return objects_.size(key); }
  std::size_t read(std::string_view key, std::uint64_t offset, mds::mutable_bytes into) const {
    return objects_.read(key, offset, into);
  }
  void write(std::string_view key, mds::bytes_view bytes) const { objects_.write(key, bytes); }
  [[nodiscard]] std::vector<mds::object_info> list(std::string_view prefix) const {
    return objects_.list(prefix);
  }
  void remove(std::string_view key) const { objects_.remove(key); }
  [[nodiscard]] std::string url(std::string_view key) const { return objects_.url(key); }

 private:
  memory objects_;
};

using without_create = mds::blocking<memory_without_create>;

/// Writes where nothing is.
struct creating : store_test::forwarding<inner_store> {
  creating(mds::runtime& threads, const memory& objects) : forwarding{{threads, objects}} {}
  void async_read(std::string key, std::uint64_t offset, mds::mutable_bytes into,
                  std::stop_token stop, mds::diagnostics& where,
                  mds::store_handler<std::size_t> done) const {
    inner.async_read(std::move(key), offset, into, std::move(stop), where, std::move(done));
  }
  void async_create(std::string key, mds::bytes_view bytes, std::stop_token stop,
                    mds::diagnostics& where, mds::store_handler<bool> done) const {
    inner.async_size(key, stop, where,
                     [store = inner, key, bytes, stop, &where, done = std::move(done)](
                         std::error_code code, std::uint64_t) mutable {
                       if (code != errc::not_found) return done(code, false);
                       store.async_write(key, bytes, stop, where,
                                         [done = std::move(done)](std::error_code failure) mutable {
                                           done(failure, !failure);
                                         });
                     });
  }
};

template <class S>
bool create(const S& store, const std::string& key, const std::string& text) {
  return mds::detail::wait_for<bool>([&](auto& where, auto done) {
    store.async_create(key, mds::as_bytes(text), {}, where, std::move(done));
  });
}

TEST_CASE("creations pass through every adapter", "[store]") {
  mds::runtime threads(2);
  const auto check = [&](const auto& around) {
    const memory objects;
    const auto store = around(creating(threads, objects));
    CHECK(mds::can_create(store));
    CHECK(create(store, "x", "first"));
    CHECK_FALSE(create(store, "x", "second"));
    CHECK(mds::as_text(mds::read_all(store, "x")) == "first");
    CHECK_FALSE(mds::can_create(around(without_create(threads, memory_without_create(objects)))));
  };
  check([](auto store) { return mds::any_async_store(store); });
  check([&](auto store) { return mds::any_store<mds::store::local>(store).on(threads); });
  check([](auto store) { return mds::prefixed(store, "p"); });
  check([](auto store) { return mds::limited(mds::adaptive(mds::metered(store)), 1); });
  check([&](auto store) { return mds::hedged(threads, mds::throttled(threads, store, {})); });
  check([&](auto store) {
    return mds::retrying(threads, mds::fault_injecting(threads, store, {}), quickly(2));
  });
  const mds::any_async_store uncreating(without_create(threads, memory_without_create()));
  expect_error([&] { create(uncreating, "x", ""); }, errc::unsupported, {"x"});
}

TEST_CASE("what a creation did not write is not counted", "[store]") {
  mds::runtime threads(1);
  const mds::metered store(creating(threads, memory()));
  CHECK(create(store, "x", "first"));
  CHECK_FALSE(create(store, "x", "second"));
  CHECK(store.metrics().bytes_written == 5);
}

TEST_CASE("an object that may be of a creation whose answer was lost is no other's", "[store]") {
  mds::runtime threads(1);
  const auto with_first = [&](store_fault what) {
    const mds::fault_injecting faulty(threads, creating(threads, memory()),
                                      {.script = {{0, what}}});
    return mds::retrying(threads, faulty, quickly(3));
  };
  const auto refused = with_first(store_fault::unavailable);
  CHECK(create(refused, "x", "mine"));
  CHECK_FALSE(create(refused, "x", "again"));
  const auto lost = with_first(store_fault::reset);
  const auto failure = support::error_of([&] { create(lost, "x", "mine"); });
  REQUIRE(failure);
  CHECK(failure->code() == errc::io_error);
  CHECK(failure->where().is_final);
  CHECK(failure->where().url == "(memory)/x");
  CHECK(mds::as_text(mds::read_all(lost, "x")) == "mine");
}

}  // namespace adapters_test
