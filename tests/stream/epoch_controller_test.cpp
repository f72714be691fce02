#include <mdstream/async/detail/event.hpp>
#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/epoch_controller.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <list>
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

// The epochs of a loader beside the current one: wishes, failures at every step, takers and ends
// that come at any moment. What is decided is tested in epoch_states_test.cpp.

namespace mds = mdstream;

namespace epoch_controller_test {

/// What was done to feeds, as one letter each: made, read, fetched, on, yielded, built, gone.
struct journal {
  std::mutex mutex;
  std::string lines;
  std::atomic<int> wrong{0};   // counted, because assertions are for one thread
  std::atomic<int> unmade{0};  // made, but for the exception
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
  // Where something is under way: what is to be called when it has ended, or where it ends.
  mds::detail::unique_function<void()>* ends = nullptr;
  mds::runtime* pool = nullptr;
  std::shared_ptr<std::atomic<bool>> gone = std::make_shared<std::atomic<bool>>(false);
  std::atomic<int> inside{0};

  feed(journal& to, char at) : book(to), fails(at) {
    if (fails == 'm') ++book.unmade;
    step('m');
  }
  ~feed() override {
    if (inside != 0) ++book.wrong;
    book.note('g');
    *gone = true;
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
  [[nodiscard]] bool is_idle() const override { return ends == nullptr && pool == nullptr; }
  void async_end(mds::detail::unique_function<void()> ended) override {
    if (pool != nullptr)
      pool->post(std::move(ended));
    else if (ends == nullptr)
      ended();
    else
      *ends = std::move(ended);
  }
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const override {
    return shard + from;
  }
};

/// A controller, which its owner closes.
class owned {
 public:
  explicit owned(mds::runtime& threads)
      : it_(std::make_shared<mds::detail::epoch_controller>(threads)) {}
  owned(const owned&) = delete;
  owned& operator=(const owned&) = delete;
  ~owned() { close(nullptr); }
  mds::detail::epoch_controller* operator->() const { return it_.get(); }
  [[nodiscard]] std::shared_ptr<mds::detail::epoch_controller> share() const { return it_; }

  /// For a test that closes it itself.
  [[nodiscard]] std::shared_ptr<mds::detail::epoch_controller> release() {
    return std::exchange(it_, nullptr);
  }

  void begin(mds::detail::epoch_key key, mds::detail::epoch_controller::maker make) const {
    it_->begin(std::move(key), std::move(make), [](std::uint32_t shard) { return shard == 1; });
  }
  void close(mds::detail::epoch_controller::epoch_pointer current) {
    if (!it_) return;
    mds::detail::one_time_event closed;
    release()->close(std::move(current), [&closed] { closed.set(); });
    closed.wait();
  }

 private:
  std::shared_ptr<mds::detail::epoch_controller> it_;
};

mds::detail::epoch_key key(std::uint64_t epoch) { return {.start = {.epoch = epoch}}; }

/// Waits until what was posted before has run.
void drain(mds::runtime& threads) {
  std::promise<void> run;
  threads.post([&] { run.set_value(); });
  run.get_future().wait();
}

}  // namespace epoch_controller_test

TEST_CASE("an epoch is made, read, fetched and built in this order, as far as is wanted") {
  using namespace epoch_controller_test;
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
    const owned it(threads);
    it->want(wanted);  // nothing has begun
    drain(threads);
    CHECK(book.text().empty());
    CHECK_FALSE(it->has_begun());
    CHECK_FALSE(it->take(key(1)));
    it.begin(key(1), [&] { return std::make_unique<feed>(book, fails); });
    CHECK(it->has_begun());
    for (int twice = 0; twice < 2; ++twice) {
      it->want(wanted);
      drain(threads);
    }
    CHECK(book.text() == expected + (fails == 'r' ? "g" : ""));
    CHECK(it->next_use(3, 4) == (made ? 7 : mds::detail::never));
    it->fetch_on();
    CHECK((book.text().back() == 'o') == fetched);
    it->yield(5);
    CHECK((book.text().back() == 'y') == made);
    CHECK((it->take(taken) != nullptr) == (made && taken == key(1)));
    CHECK_FALSE(it->has_begun());
    CHECK(it->next_use(3, 4) == mds::detail::never);
    CHECK_FALSE(it->take(key(1)));
  }
  CHECK(std::ranges::count(book.text(), 'g') == (fails == 'm' ? 0 : 1));
  CHECK(book.wrong == 0);
}

TEST_CASE("a step in progress ends before its epoch is taken, or the loader's epochs are left") {
  using namespace epoch_controller_test;
  mds::runtime threads(2);
  journal book;
  mds::detail::one_time_event inside, go, closed;
  owned it(threads);
  it.begin(key(1), [&] {
    inside.set();
    go.wait();
    return std::make_unique<feed>(book, ' ');
  });
  inside.wait();
  SECTION("who takes it waits") {
    threads.post([&] { go.set(); });
    CHECK(it->take(key(1)));
    CHECK(book.text() == "mrg");
  }
  SECTION("who closes does not, but the current epoch lives until then") {
    const auto same = it.release();
    same->close(std::make_unique<feed>(book, ' '), [&] { closed.set(); });
    CHECK(book.text() == "m");
    same->want(mds::detail::readiness::built);  // too late
    go.set();
    closed.wait();
    CHECK(book.text() == "mmrgg");
  }
}

TEST_CASE("an epoch that was left is destroyed on the pool") {
  using namespace epoch_controller_test;
  const bool by_pool = GENERATE(true, false);  // or by the end of the loader
  mds::runtime threads(1);
  journal book;
  std::promise<void> go;
  const std::shared_future<void> gone_on = go.get_future().share();
  {
    const owned it(threads);
    threads.post([gone_on] { gone_on.wait(); });
    it->leave(std::make_unique<feed>(book, ' '));
    it->clear();
    CHECK(book.text() == "m");
    it->leave(std::make_unique<feed>(book, ' '));  // one waits at a time
    it->clear();
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
  using namespace epoch_controller_test;
  mds::runtime threads(1);
  journal book;
  std::vector<mds::detail::unique_function<void()>> ends(3);
  const auto busy = [&](std::size_t which) {
    auto out = std::make_unique<feed>(book, ' ');
    out->ends = &ends[which];
    return out;
  };
  const auto it = std::make_shared<mds::detail::epoch_controller>(threads);
  CHECK_FALSE(it->others_gone().stop_possible());
  it->leave(busy(0));
  it->leave(busy(1));
  CHECK(book.text() == "mm");
  const std::stop_token gone = it->others_gone();
  ends[1]();
  CHECK(book.text() == "mmg");
  CHECK(gone.stop_possible());
  CHECK_FALSE(gone.stop_requested());
  ends[0]();
  CHECK(book.text() == "mmgg");
  CHECK(gone.stop_requested());
  CHECK_FALSE(it->others_gone().stop_possible());
  bool was_called = false;
  SECTION("the end of all is reported at once if nothing is under way") {
    it->close(nullptr, [&] { was_called = true; });
    CHECK(was_called);
  }
  SECTION("or when that has ended, which may be the current epoch") {
    const bool is_current = GENERATE(true, false);
    if (!is_current) it->leave(busy(2));
    it->close(is_current ? busy(2) : nullptr, [&] { was_called = true; });
    CHECK_FALSE(was_called);
    ends[2]();
  }
  CHECK(was_called);
  const std::string text = book.text();
  CHECK(std::ranges::count(text, 'g') == std::ranges::count(text, 'm'));
}

TEST_CASE("an epoch that was left stays until it is cleared away, or there is other work") {
  using namespace epoch_controller_test;
  mds::runtime threads(1);
  journal book;
  {
    const owned it(threads);
    it->leave(nullptr);
    it->leave(std::make_unique<feed>(book, ' '));
    drain(threads);
    CHECK(book.text() == "m");
    SECTION("cleared away") {
      it->clear();
      drain(threads);
      CHECK(book.text() == "mg");
      it->clear();  // nothing is there
    }
    SECTION("before the epoch after the next is made") {
      it.begin(key(1), [&] { return std::make_unique<feed>(book, ' '); });
      drain(threads);
      CHECK(book.text() == "mgmr");
    }
    SECTION("one at a time") {
      it->leave(std::make_unique<feed>(book, ' '));
      CHECK(book.text() == "mmg");
    }
    SECTION("one of its shards is bad") {
      it->yield(5);
      CHECK(book.text() == "mg");
    }
    SECTION("another one is under way") {
      mds::detail::unique_function<void()> ends;
      auto busy = std::make_unique<feed>(book, ' ');
      busy->ends = &ends;
      it->leave(std::move(busy));
      ends();
      CHECK(book.text() == "mmg");
    }
    SECTION("the loader ends") {}
  }
  const std::string text = book.text();
  CHECK(std::ranges::count(text, 'm') == std::ranges::count(text, 'g'));
}

TEST_CASE("an epoch that was left gives up its shards as soon as one is found to be bad") {
  using namespace epoch_controller_test;
  mds::runtime threads(1);
  journal book;
  std::promise<void> go;
  threads.post([gone_on = go.get_future().share()] { gone_on.wait(); });
  const owned it(threads);
  it->leave(std::make_unique<feed>(book, ' '));
  it->clear();
  it->yield(5);
  CHECK(book.text() == "mg");
  go.set_value();
}

TEST_CASE("epochs are begun, wanted, taken and left, and loaders end, at any moment") {
  using namespace epoch_controller_test;
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  mds::runtime threads(3);
  journal book;
  for (int loader = 0; loader < 30; ++loader) {
    std::atomic<bool> over{false};
    owned it(threads);
    // A bounded number of times: it could keep the lock from all others for as long as it goes on.
    std::thread others([&over, &book, same = it.share()] {
      for (unsigned i = 0; i < 5000 && !over; ++i) {
        const std::uint64_t use = same->next_use(1, 2);
        if (use != 3 && use != mds::detail::never) ++book.wrong;
        same->want(mds::detail::readiness::built);
        if (i % 8 == 0) same->yield(5);
        if (i % 8 == 4) same->fetch_on();
        std::this_thread::yield();
      }
    });
    const auto made = [&book, &threads](char fails, bool busy) {
      auto out = std::make_unique<feed>(book, fails);
      if (busy) out->pool = &threads;
      return out;
    };
    std::vector<std::shared_ptr<std::atomic<bool>>> busy;  // when they were left: whether gone
    std::list<std::stop_callback<std::function<void()>>> callbacks;
    const std::uint64_t epochs = 1 + random() % 20;
    for (std::uint64_t i = 0; i < epochs; ++i) {
      it.begin(key(i), [made, fails = "  mrfb"[random() % 6], is_busy = random() % 2 == 0] {
        return made(fails, is_busy);
      });
      if (const auto k = random() % 50; k != 0)
        std::this_thread::sleep_for(std::chrono::microseconds(k));
      if (random() % 4 == 0) it->want(mds::detail::readiness::fetched);
      if (random() % 4 == 0) it->fetch_on();
      if (random() % 8 == 0) break;
      auto left = it->take(key(random() % 3 == 0 ? i + 1 : i));  // or another epoch than this
      if (left && !left->is_idle()) busy.push_back(static_cast<feed&>(*left).gone);
      it->leave(std::move(left));
      const std::stop_token others_gone = it->others_gone();
      callbacks.emplace_back(others_gone, [&book, before = busy] {
        if (!std::ranges::all_of(before, [](const auto& each) { return each->load(); }))
          ++book.wrong;
      });
      if (random() % 4 == 0) it->clear();
      if (others_gone.stop_possible() && random() % 4 == 0) {
        mds::detail::one_time_event gone;
        const std::stop_callback sets(others_gone, [&gone] { gone.set(); });
        gone.wait();
      }
    }
    it.close(random() % 2 == 0 ? made(' ', random() % 2 == 0) : nullptr);
    over = true;
    others.join();
    const std::string text = book.text();
    const auto of = [&text](char what) { return std::ranges::count(text, what); };
    CHECK(of('r') <= of('m'));
    CHECK(of('f') <= of('r'));
    CHECK(of('b') <= of('f'));
    CHECK(of('g') == of('m') - book.unmade);
  }
  CHECK(book.wrong == 0);
}
