#include <mdstream/stream/detail/delivery.hpp>

#include <mdstream/async/detail/event.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/waits_at_end.hpp"

// A delivery over a scripted cache: every request is answered when, how and on which thread the
// script says, and the cache keeps book of what it was asked.

namespace mds = mdstream;

namespace delivery_test {

/// Ids 0, 1, 2, ... in order.
struct counting {
  std::uint64_t count;
  [[nodiscard]] std::uint64_t size() const { return count; }
  void read(std::uint64_t first, std::span<std::int64_t> out) const {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(first + i);
  }
};

/// Every shard is an MDS shard of 4 samples: sample `i` has `i + 1` bytes, each of which is the
/// shard's number.
class scripted_cache final : public mds::detail::shard_supply {
 public:
  explicit scripted_cache(std::size_t shards) {
    for (std::size_t shard = 0; shard < shards; ++shard) {
      constexpr std::uint32_t header[] = {4, 24, 25, 27, 30, 34};
      const auto bytes = std::as_bytes(std::span(header));
      bytes_.emplace_back(bytes.begin(), bytes.end()).resize(34, static_cast<std::byte>(shard));
    }
  }

  mutable std::set<std::uint32_t> bad{};  // each once
  bool is_limited = false;
  /// Answers a request: at once where it returns a code, later where it returns nothing.
  std::function<std::optional<std::error_code>(std::uint32_t shard, bool ahead)> script;
  std::atomic<bool> held_elsewhere{false};  // what `drop` can not give up

  [[nodiscard]] std::size_t shards() const override { return bytes_.size(); }
  [[nodiscard]] bool limited() const override { return is_limited; }
  [[nodiscard]] std::uint64_t footprint(std::uint32_t) const override { return 10; }
  [[nodiscard]] std::size_t fetches_at_once() const override { return 64; }
  [[nodiscard]] bool may_hold(std::uint64_t bytes) override { return bytes <= 35; }
  [[nodiscard]] mds::detail::shard_samples view(const mds::detail::shard_ref&,
                                                std::uint32_t number) const override {
    if (bad.erase(number) != 0) throw mds::error(mds::errc::corrupt, "it is no shard");
    return mds::detail::shard_samples(mds::mds_shard_view(bytes_[number], 4));
  }
  void unpin(std::uint32_t shard) override {
    const std::lock_guard lock(mutex_);
    unpinned_.push_back(shard);
  }
  [[nodiscard]] std::vector<std::uint32_t> unpinned() {
    const std::lock_guard lock(mutex_);
    return unpinned_;
  }
  [[nodiscard]] std::optional<mds::detail::shard_ref> try_acquire(std::uint32_t shard) override {
    const std::lock_guard lock(mutex_);
    if (!resident_.contains(shard)) return std::nullopt;
    return mds::detail::shard_ref();
  }
  void async_acquire(std::uint32_t shard, std::stop_token stop, mds::diagnostics& where,
                     acquire_handler done) override {
    answer(shard, false, std::move(stop), where,
           [done = std::move(done)](std::error_code e) mutable { done(e, {}); });
  }
  void async_prefetch(std::uint32_t shard, std::stop_token stop, mds::diagnostics& where,
                      prefetch_handler done) override {
    answer(shard, true, std::move(stop), where, std::move(done));
  }

  /// Completes one of the waiting requests, the `which`-th; false when there is none.
  bool complete(std::size_t which, std::error_code code = {}) {
    waiting one;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return false;
      const auto at = waiting_.begin() + static_cast<std::ptrdiff_t>(which % waiting_.size());
      one = std::move(*at);
      waiting_.erase(at);
    }
    finish(one.shard, one.stop.stop_requested() ? mds::errc::canceled : code, *one.where, one.done);
    return true;
  }
  [[nodiscard]] std::vector<std::uint32_t> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  /// Forgets a shard; the script is asked for it again.
  bool drop(std::uint32_t shard) override {
    const std::lock_guard lock(mutex_);
    return !held_elsewhere && resident_.erase(shard) != 0;
  }
  void put(std::uint32_t shard) {
    const std::lock_guard lock(mutex_);
    resident_.insert(shard);
  }
  void evict_all() {
    const std::lock_guard lock(mutex_);
    resident_.clear();
  }

 private:
  struct waiting {
    std::uint32_t shard = 0;
    std::stop_token stop;
    mds::diagnostics* where = nullptr;
    mds::detail::unique_function<void(std::error_code)> done;
  };

  void answer(std::uint32_t shard, bool ahead, std::stop_token stop, mds::diagnostics& where,
              mds::detail::unique_function<void(std::error_code)> done) {
    const std::optional<std::error_code> now = script ? script(shard, ahead) : std::error_code();
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back(shard);
      if (!now) {
        waiting_.push_back({shard, std::move(stop), &where, std::move(done)});
        return;
      }
    }
    finish(shard, *now, where, done);
  }
  void finish(std::uint32_t shard, std::error_code code, mds::diagnostics& where,
              mds::detail::unique_function<void(std::error_code)>& done) {
    if (code)
      where.what = "the script says no to shard " + std::to_string(shard);
    else {
      const std::lock_guard lock(mutex_);
      resident_.insert(shard);
    }
    done(code);
  }

  std::vector<std::vector<std::byte>> bytes_;
  std::mutex mutex_;
  std::set<std::uint32_t> resident_;
  std::deque<waiting> waiting_;
  std::vector<std::uint32_t> asked_;
  std::vector<std::uint32_t> unpinned_;
};

using waited_delivery = support::waits_at_end<mds::detail::delivery>;

/// The number that a shard's samples say.
std::uint64_t number_of(const mds::detail::shard_samples& samples) {
  return std::to_integer<std::uint64_t>(samples[0].front());
}

/// 20 shards of 4 samples, batches of 2: batch t needs shard t / 2 alone.
struct rig {
  std::vector<std::uint64_t> sizes = std::vector<std::uint64_t>(20, 4);
  mds::detail::shard_locator locate{sizes};
  mds::runtime threads{2};
  scripted_cache from{sizes.size()};

  [[nodiscard]] waited_delivery start(std::uint64_t predownload, std::size_t requests,
                                      std::function<void(std::uint32_t)> before_drop = {}) {
    return {from, threads,
            mds::detail::lookahead(locate, sizes.size(), mds::epoch_order(counting{80}, 2),
                                   mds::world{}, 2),
            mds::detail::delivery_limits{
                .predownload = predownload, .horizon = 40, .requests = requests},
            std::move(before_drop)};
  }
};

/// The whole epoch, each batch from the shard that it lies in.
void read_on(waited_delivery& delivery, std::uint64_t first = 0) {
  std::uint64_t t = first;
  while (delivery.wait()) {
    CHECK(delivery.front().number == t);
    CHECK(number_of(delivery.shard(static_cast<std::uint32_t>(t / 2))) == t / 2);
    delivery.pop();
    ++t;
  }
  CHECK(t == 40);
}

}  // namespace delivery_test

TEST_CASE("shards are asked for in order, once each, however the answers come") {
  using namespace delivery_test;
  rig r;
  SECTION("at once") {}
  SECTION("with a limit: only the first batch's shards are held") { r.from.is_limited = true; }
  auto delivery = r.start(16, 3);
  read_on(delivery);
  std::vector<std::uint32_t> expected(20);
  for (std::uint32_t i = 0; i < 20; ++i) expected[i] = i;
  CHECK(r.from.asked() == expected);
}

TEST_CASE("before the first batch what is local is held, and what others need is theirs to fetch") {
  using namespace delivery_test;
  rig r;
  r.from.put(0);
  auto delivery = r.start(12, 1);  // shards 0, 1 and 2
  delivery.read_first();
  CHECK(delivery.upcoming() == nullptr);
  delivery.fetch_first([](std::uint32_t shard) { return shard < 2; });
  CHECK(r.from.asked() == std::vector<std::uint32_t>{2});
  REQUIRE(delivery.upcoming() != nullptr);
  CHECK(delivery.upcoming()->number == 0);
  delivery.yield(0);
  CHECK(delivery.upcoming() == nullptr);
  r.from.evict_all();
  read_on(delivery);
}

TEST_CASE("fetching before the first batch goes on where it waited for room, in order") {
  using namespace delivery_test;
  rig r;
  bool room = false;
  r.from.script = [&](std::uint32_t, bool) {
    return std::optional(room ? std::error_code() : make_error_code(mds::errc::cache_too_small));
  };
  auto delivery = r.start(12, 1);
  delivery.read_first();
  delivery.fetch_first([](std::uint32_t) { return false; });
  CHECK(r.from.asked() == std::vector<std::uint32_t>{0});
  room = true;
  delivery.fetch_on();
  CHECK(r.from.asked() == std::vector<std::uint32_t>{0, 0, 1, 2});
  delivery.fetch_on();  // nothing waits
  CHECK(r.from.asked().size() == 4);
}

TEST_CASE("a bad shard is given up where another takes it once more in between, and not for ever") {
  using namespace delivery_test;
  rig r;
  int yields = 0;
  const int taken = GENERATE(0, 1, 2);
  auto delivery = r.start(2, 1, [&](std::uint32_t shard) {
    CHECK(shard == 0);
    r.from.held_elsewhere = ++yields <= taken;
  });
  REQUIRE(delivery.wait());
  CHECK(delivery.recover(0) == (taken < 2));
  CHECK(yields == (taken == 0 ? 1 : 2));
  r.from.held_elsewhere = false;
  read_on(delivery);
}

TEST_CASE("answers in any order from other threads, failures and lack of room among them") {
  using namespace delivery_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  for (unsigned round = 0; round < 30; ++round) {
    rig r;
    r.from.is_limited = round % 2 == 0;
    std::mt19937 decide(seed + round);
    std::mutex decide_mutex;
    const auto below = [&](unsigned n) {
      const std::lock_guard lock(decide_mutex);
      return static_cast<unsigned>(decide() % n);
    };
    r.from.script = [&](std::uint32_t, bool ahead) -> std::optional<std::error_code> {
      switch (below(6)) {
        case 0: return std::error_code();
        case 1: return ahead ? mds::errc::cache_too_small : mds::errc::io_error;
        default: return std::nullopt;
      }
    };
    std::atomic<bool> ended{false};
    std::thread world([&] {
      while (!ended) {
        const unsigned kind = below(8);
        if (kind == 7) r.from.evict_all();
        if (!r.from.complete(below(4),
                             kind == 0 ? make_error_code(mds::errc::io_error) : std::error_code()))
          std::this_thread::yield();
      }
      while (r.from.complete(0)) {
      }
    });
    {
      auto delivery = r.start(2 + below(30), 1 + below(4));
      std::uint64_t t = 0;
      for (bool more = true; more;) {
        try {
          more = delivery.wait();
        } catch (const mds::error& e) {
          CHECK(e.code() == mds::errc::io_error);
          CHECK(std::string(e.what()).find("says no to shard " + std::to_string(t / 2)) !=
                std::string::npos);
          continue;
        }
        if (!more) break;
        CHECK(delivery.front().number == t);
        CHECK(number_of(delivery.shard(static_cast<std::uint32_t>(t / 2))) == t / 2);
        delivery.pop();
        ++t;
      }
      CHECK(t == 40);
    }
    ended = true;
    world.join();
  }
}

TEST_CASE("a batch that the limit can not hold is copied shard by shard, and holds none") {
  using namespace delivery_test;
  rig r;
  r.from.is_limited = true;
  std::uint64_t batch = 16;  // four shards of 10 bytes in 35
  int refusals = 0;
  const auto way = GENERATE(as<std::string>{}, "as the cache says", "some are bad at first",
                            "what was allowed finds no room after all");
  INFO(way);
  if (way == "some are bad at first") r.from.bad = {2, 5, 19};
  if (way == "what was allowed finds no room after all") {
    batch = 8;
    r.from.script = [&](std::uint32_t shard, bool ahead) {
      return std::optional(ahead || (shard % 2 == 1 && ++refusals % 2 == 1)
                               ? make_error_code(mds::errc::cache_too_small)
                               : std::error_code());
    };
  }
  waited_delivery delivery(
      r.from, r.threads,
      mds::detail::lookahead(r.locate, 20, mds::epoch_order(counting{80}, batch), mds::world{},
                             batch),
      mds::detail::delivery_limits{.predownload = 0, .horizon = 0, .requests = 1});
  std::uint64_t id = 0;
  while (delivery.wait()) {
    REQUIRE(delivery.copied() != nullptr);
    const mds::detail::upcoming_batch& front = delivery.front();
    for (std::size_t i = 0; i < front.ids.size(); ++i, ++id) {
      const mds::bytes_view sample = (*delivery.copied())[i];
      REQUIRE(sample.size() == id % 4 + 1);
      CHECK(sample.back() == static_cast<std::byte>(id / 4));
    }
    std::vector<mds::detail::shard_ref> held;
    delivery.share_front(held);
    CHECK(held.empty());
    delivery.pop();
  }
  CHECK(id == 80);
  CHECK(delivery.has_copied());
  const auto unpinned = r.from.unpinned();
  for (std::uint32_t shard = 0; shard < 20; ++shard)
    CHECK(std::ranges::count(unpinned, shard) >= 1);
}

TEST_CASE("waiting without blocking: built and completed on the pool, canceled, or dropped") {
  using namespace delivery_test;
  rig r;
  r.from.script = [](std::uint32_t, bool) { return std::optional<std::error_code>(); };
  mds::runtime pool(1);  // which ends one task before it begins the next
  auto delivery = std::make_unique<waited_delivery>(
      r.from, pool,
      mds::detail::lookahead(r.locate, 20, mds::epoch_order(counting{80}, 2), mds::world{}, 2),
      mds::detail::delivery_limits{.predownload = 4, .horizon = 4, .requests = 2});
  std::promise<std::exception_ptr> outcome;
  const auto ask = [&](std::stop_token stop) {
    outcome = {};
    auto future = outcome.get_future();
    delivery->async_next(
        std::move(stop), [] { return true; }, [&](std::exception_ptr e) { outcome.set_value(e); });
    return future;
  };
  const auto is_waiting = [&](const std::future<std::exception_ptr>& call) {
    for (int i = 0; i < 3; ++i) {  // what the pool was given, and what that gave it, is done
      mds::detail::one_time_event done;
      pool.post([&done] { done.set(); });
      done.wait();
    }
    return call.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  };

  SECTION("it completes when the shard is there") {
    auto future = ask({});
    CHECK(is_waiting(future));
    while (r.from.complete(0)) {
    }
    CHECK_FALSE(future.get());
    CHECK(delivery->front().number == 0);
  }
  SECTION("a stop ends the call and consumes nothing") {
    std::stop_source stop;
    auto future = ask(stop.get_token());
    stop.request_stop();
    CHECK(mds::code_of(future.get()) == mds::errc::canceled);
    auto early = ask(stop.get_token());
    CHECK(mds::code_of(early.get()) == mds::errc::canceled);
    std::thread answers([&] {
      while (r.from.complete(0)) std::this_thread::yield();
    });
    CHECK(delivery->wait());
    CHECK(delivery->front().number == 0);
    answers.join();
  }
  SECTION("no batch is announced, and nothing asked for, before others are gone") {
    std::stop_source others_gone, stop;
    delivery->wait_for(std::stop_token());  // nobody
    delivery->wait_for(others_gone.get_token());
    auto early = ask(stop.get_token());
    stop.request_stop();
    CHECK(mds::code_of(early.get()) == mds::errc::canceled);
    r.from.script = [](std::uint32_t, bool) { return std::optional(std::error_code()); };
    auto future = ask({});
    CHECK(is_waiting(future));
    CHECK(r.from.asked().empty());
    SECTION("then the call completes") {
      others_gone.request_stop();
      CHECK_FALSE(future.get());
      CHECK(delivery->front().number == 0);
    }
    SECTION("unless it is destroyed before") {
      delivery.reset();
      CHECK(mds::code_of(future.get()) == mds::errc::canceled);
      others_gone.request_stop();
    }
    SECTION("or stopped") {
      delivery->stop();
      CHECK(mds::code_of(future.get()) == mds::errc::canceled);
      others_gone.request_stop();
    }
  }
  SECTION("others are to go first though a batch's shards are on their way already") {
    std::atomic<int> acquired{0};
    r.from.script = [&](std::uint32_t, bool ahead) {
      if (!ahead) ++acquired;
      return std::optional<std::error_code>();
    };
    auto future = ask({});
    std::stop_source others_gone;
    delivery->wait_for(others_gone.get_token());
    const auto awaited = delivery->waits_for();
    REQUIRE(awaited);
    CHECK(awaited->missing == std::vector<std::uint32_t>{0});
    SECTION("they go first") { others_gone.request_stop(); }
    SECTION("the shards come first") {
      while (r.from.complete(0)) {
      }
      CHECK(is_waiting(future));
      others_gone.request_stop();
    }
    while (r.from.complete(0)) {
    }
    CHECK_FALSE(future.get());
    CHECK(delivery->front().number == 0);
    CHECK(acquired == 1);
    CHECK(delivery->counters().needed == 1);
    CHECK(delivery->counters().missed == 1);
  }
  SECTION("others are to go first though a batch was announced already") {
    r.from.script = [](std::uint32_t, bool) { return std::optional(std::error_code()); };
    REQUIRE(delivery->wait());
    std::stop_source others_gone;
    delivery->wait_for(others_gone.get_token());
    SECTION("which is left behind") { delivery->pop(); }
    SECTION("one of whose shards is bad") { CHECK(delivery->recover(0)); }
    const std::uint64_t number = delivery->front().number;
    auto future = ask({});
    CHECK(delivery->counters().needed == 1);  // nothing is gathered meanwhile
    others_gone.request_stop();
    CHECK_FALSE(future.get());
    CHECK(delivery->front().number == number);
    CHECK(delivery->counters().needed == 2);
  }
  SECTION("who waits for a batch waits for others, too") {
    r.from.script = [](std::uint32_t, bool) { return std::optional(std::error_code()); };
    std::stop_source others_gone;
    delivery->wait_for(others_gone.get_token());
    std::atomic<bool> gone{false};
    std::thread others([&] {
      std::this_thread::yield();
      gone = true;
      others_gone.request_stop();
    });
    CHECK(delivery->wait());
    CHECK(gone);
    others.join();
  }
  SECTION("destruction ends it") {
    const std::shared_future<std::exception_ptr> ended = ask({}).share();
    // The destructor tells who waits before it waits itself for the shards that are on their way.
    std::thread answers([&] {
      ended.wait();
      while (r.from.complete(0)) {
      }
    });
    delivery.reset();
    CHECK(mds::code_of(ended.get()) == mds::errc::canceled);
    answers.join();
  }
}
