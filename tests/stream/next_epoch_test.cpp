#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/next_epoch.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

// The epoch after the one at hand: every wish in every state, failures at every step, and takers
// that come at any moment.

namespace mds = mdstream;

namespace next_epoch_test {

/// What was done to feeds, as one letter each: made, read, fetched, on, yielded, built, gone.
struct journal {
  std::mutex mutex;
  std::string lines;
  std::atomic<int> wrong{0};  // counted, because assertions are for one thread
  void note(char what) {
    const std::lock_guard lock(mutex);
    lines += what;
  }
  [[nodiscard]] std::string text() {
    const std::lock_guard lock(mutex);
    return lines;
  }
};

struct feed final : mds::detail::epoch_steps {
  journal& book;
  char fails;  // at this step
  mds::detail::unique_function<void()>* ends =
      nullptr;  // where something is under way: to be called
  std::atomic<int> inside{0};

  feed(journal& to, char at) : book(to), fails(at) { step('m'); }
  ~feed() override {
    if (inside != 0) ++book.wrong;
    book.note('g');
  }
  void step(char what) {
    if (++inside != 1) ++book.wrong;  // one thread at a time
    book.note(what);
    --inside;
    if (what == fails) throw std::runtime_error("the script says no");
  }
  void read_first() override { step('r'); }
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) override {
    if (!needed_before(1) || needed_before(2)) ++book.wrong;
    step('f');
  }
  void fetch_on() override { book.note('o'); }
  void yield(std::uint32_t shard) override {
    if (shard != 5) ++book.wrong;
    book.note('y');
  }
  void build_first() override { step('b'); }
  [[nodiscard]] bool is_idle() const override { return ends == nullptr; }
  void async_end(mds::detail::unique_function<void()> ended) override { *ends = std::move(ended); }
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const override {
    return shard + from;
  }
};

using next = mds::detail::next_epoch;

mds::detail::epoch_key key(std::uint64_t epoch) { return {.start = {.epoch = epoch}}; }

/// Waits until what was posted before has run.
void drain(mds::runtime& threads) {
  std::promise<void> run;
  threads.post([&] { run.set_value(); });
  run.get_future().wait();
}

}  // namespace next_epoch_test

TEST_CASE("an epoch is made, read, fetched and built in this order, as far as is wanted") {
  using namespace next_epoch_test;
  const char fails = GENERATE(' ', 'm', 'r', 'f', 'b');
  const auto wanted = GENERATE(mds::detail::readiness::none, mds::detail::readiness::read,
                               mds::detail::readiness::fetched, mds::detail::readiness::built);
  INFO("fails at " << fails << ", wanted " << static_cast<int>(wanted));
  const std::string all = "mrfb";
  std::string expected =
      all.substr(0, std::max<std::size_t>(static_cast<std::size_t>(wanted), 1) + 1);
  if (const std::size_t at = expected.find(fails); at != std::string::npos) expected.resize(at + 1);
  const bool made = fails != 'm' && fails != 'r';
  const bool fetched = made && expected.find('f') != std::string::npos;
  const mds::detail::epoch_key taken =
      GENERATE(key(1), key(2), mds::detail::epoch_key{key(1).start, {7}});
  mds::runtime threads(1);
  journal book;
  {
    next it(threads, [](std::uint32_t shard) { return shard == 1; });
    it.want(wanted);  // nothing has begun
    drain(threads);
    CHECK(book.text().empty());
    CHECK_FALSE(it.has_begun());
    CHECK_FALSE(it.take(key(1)));
    it.begin(key(1), [&] { return std::make_unique<feed>(book, fails); });
    CHECK(it.has_begun());
    for (int twice = 0; twice < 2; ++twice) {
      it.want(wanted);
      drain(threads);
    }
    CHECK(book.text() == expected + (fails == 'r' ? "g" : ""));
    CHECK(it.next_use(3, 4) == (made ? 7 : mds::detail::never));
    it.fetch_on();
    CHECK((book.text().back() == 'o') == fetched);
    it.yield(5);
    CHECK((book.text().back() == 'y') == made);
    CHECK((it.take(taken) != nullptr) == (made && taken == key(1)));
    CHECK_FALSE(it.has_begun());
    CHECK(it.next_use(3, 4) == mds::detail::never);
    CHECK_FALSE(it.take(key(1)));
  }
  CHECK(std::ranges::count(book.text(), 'g') == (fails == 'm' ? 0 : 1));
  CHECK(book.wrong == 0);
}

TEST_CASE("an epoch that ended is destroyed on the pool") {
  using namespace next_epoch_test;
  const bool by_pool = GENERATE(true, false);  // or by the end of the loader
  mds::runtime threads(1);
  journal book;
  std::promise<void> go;
  const std::shared_future<void> gone_on = go.get_future().share();
  {
    next it(threads, [](std::uint32_t shard) { return shard == 1; });
    threads.post([gone_on] { gone_on.wait(); });
    it.retire(std::make_unique<feed>(book, ' '));
    CHECK(book.text() == "m");
    it.retire(std::make_unique<feed>(book, ' '));  // one waits at a time
    CHECK(book.text() == "mmg");
    if (by_pool) {
      go.set_value();
      drain(threads);
      CHECK(book.text() == "mmgg");
    }
  }
  if (!by_pool) go.set_value();
  CHECK(book.text() == "mmgg");
}

TEST_CASE("an epoch of which something is under way is not waited for, but by the end of all") {
  using namespace next_epoch_test;
  mds::runtime threads(1);
  journal book;
  std::vector<mds::detail::unique_function<void()>> ends(3);
  const auto retire_busy = [&](next& from, std::size_t which) {
    auto busy = std::make_unique<feed>(book, ' ');
    busy->ends = &ends[which];
    from.retire(std::move(busy));
  };
  std::thread late;
  {
    next it(threads, [](std::uint32_t shard) { return shard == 1; });
    CHECK_FALSE(it.others_gone().stop_possible());
    retire_busy(it, 0);
    retire_busy(it, 1);
    CHECK(book.text() == "mm");
    const std::stop_token gone = it.others_gone();
    ends[1]();
    CHECK(book.text() == "mmg");
    CHECK(gone.stop_possible());
    CHECK_FALSE(gone.stop_requested());
    ends[0]();
    CHECK(book.text() == "mmgg");
    CHECK(gone.stop_requested());
    CHECK_FALSE(it.others_gone().stop_possible());
    bool told = false;
    SECTION("the end of all is told at once where nothing is under way") {
      it.when_others_gone([&] { told = true; });
    }
    SECTION("or when that has ended") {
      retire_busy(it, 2);
      it.when_others_gone([&] { told = true; });
      CHECK_FALSE(told);
      ends[2]();
    }
    CHECK(told);
    retire_busy(it, 2);
    late = std::thread([&] {
      std::this_thread::yield();
      ends[2]();
    });
  }
  CHECK(std::ranges::count(book.text(), 'g') == std::ranges::count(book.text(), 'm'));
  late.join();
}

TEST_CASE("an epoch that ended lies aside until it is cleared away, or there is other work") {
  using namespace next_epoch_test;
  mds::runtime threads(1);
  journal book;
  {
    next it(threads, [](std::uint32_t shard) { return shard == 1; });
    it.lay_aside(std::make_unique<feed>(book, ' '));
    drain(threads);
    CHECK(book.text() == "m");
    SECTION("cleared away") {
      it.clear();
      drain(threads);
      CHECK(book.text() == "mg");
      it.clear();  // nothing is there
    }
    SECTION("before the epoch after the next is made") {
      it.begin(key(1), [&] { return std::make_unique<feed>(book, ' '); });
      drain(threads);
      CHECK(book.text() == "mgmr");
    }
    SECTION("one at a time") {
      it.lay_aside(std::make_unique<feed>(book, ' '));
      CHECK(book.text() == "mmg");
    }
    SECTION("one of its shards is bad") {
      it.yield(5);
      CHECK(book.text() == "mg");
    }
    SECTION("it has to be waited for") {
      mds::detail::unique_function<void()> ends;
      auto busy = std::make_unique<feed>(book, ' ');
      busy->ends = &ends;
      it.lay_aside(std::move(busy));
      ends();
      CHECK(book.text() == "mmg");
    }
    SECTION("the loader ends") {}
  }
  const std::string text = book.text();
  CHECK(std::ranges::count(text, 'm') == std::ranges::count(text, 'g'));
}

TEST_CASE("an epoch that ended gives up its shards as soon as one is found to be bad") {
  using namespace next_epoch_test;
  mds::runtime threads(1);
  journal book;
  std::promise<void> go;
  threads.post([gone_on = go.get_future().share()] { gone_on.wait(); });
  next it(threads, [](std::uint32_t shard) { return shard == 1; });
  it.retire(std::make_unique<feed>(book, ' '));
  it.yield(5);
  CHECK(book.text() == "mg");
  go.set_value();
}

TEST_CASE("epochs are begun, wanted, taken and dropped at any moment by a busy pool") {
  using namespace next_epoch_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  mds::runtime threads(3);
  journal book;
  std::size_t made = 0;
  std::atomic<bool> over{false};
  {
    next it(threads, [](std::uint32_t shard) { return shard == 1; });
    std::thread others([&] {
      while (!over) {
        const std::uint64_t use = it.next_use(1, 2);
        if (use != 3 && use != mds::detail::never) ++book.wrong;
        it.want(mds::detail::readiness::built);
      }
    });
    for (int i = 0; i < 300; ++i) {
      it.begin(key(static_cast<std::uint64_t>(i)), [&book, fails = "  mrfb"[random() % 6]] {
        return std::make_unique<feed>(book, fails);
      });
      for (unsigned k = 0; k < random() % 50; ++k) std::this_thread::yield();
      if (random() % 4 == 0) it.want(mds::detail::readiness::fetched);
      if (random() % 4 == 0) it.fetch_on();
      if (random() % 3 == 0) continue;  // the next one takes its place
      if (auto got = it.take(key(static_cast<std::uint64_t>(i)))) {
        ++made;
        random() % 2 == 0 ? it.retire(std::move(got)) : it.lay_aside(std::move(got));
        if (random() % 4 == 0) it.clear();
      }
    }
    over = true;
    others.join();
  }
  const std::string text = book.text();
  const auto of = [&text](char what) { return std::ranges::count(text, what); };
  INFO(made << " were taken");
  CHECK(of('g') <= of('m'));
  CHECK(of('r') <= of('m'));
  CHECK(of('f') <= of('r'));
  CHECK(of('b') <= of('f'));
  CHECK(book.wrong == 0);
}
