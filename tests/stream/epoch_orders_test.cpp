#include <mdstream/schedule/detail/eviction.hpp>
#include <mdstream/stream/detail/epoch_controller.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"
#include "support/turns.hpp"

// The epochs of a loader, whose threads take turns in an order that a seed decides: epochs are
// left, end and give up shards, and the loader ends, while others are made, read, fetched, built
// and taken.

namespace mds = mdstream;

namespace epoch_orders_test {

using mds::detail::epoch_controller, mds::detail::readiness;

/// One run of a loader.
struct story {
  support::turns by;
  int callers = 2;                  // threads other than the pool's that have not ended
  std::array<int, 128> times{};     // feeds were made, read, fetched, built, gone
  int alive = 0;                    // feeds
  std::deque<bool> gone{};          // of each feed
  std::vector<const bool*> idle{};  // of those that were left when nothing of them was under way
  std::deque<mds::detail::unique_function<void()>> posted{}, under_way{};
  bool is_settled = false;  // what is under way ends at once
  bool is_closing = false;
  bool is_fetched = false;      // the next epoch, or a step of it has failed
  const char* wrong = nullptr;  // the first thing that was

  explicit story(unsigned seed) : by(seed, 1 + seed % 4) {}

  void require(bool holds, const char* what) {
    if (holds || wrong != nullptr) return;
    wrong = what;
    by.say(what);
  }
  [[nodiscard]] bool one_of(unsigned count) { return by.random()() % count == 0; }
  void post(mds::detail::unique_function<void()> work) {
    by.pass();
    posted.push_back(std::move(work));
    by.wake();
    by.pass();
  }
  /// A thread of the pool.
  void work() {
    while (callers != 0 || !posted.empty()) {
      if (posted.empty()) {
        by.sleep();
        continue;
      }
      mds::detail::unique_function<void()> next = std::move(posted.front());
      posted.pop_front();
      by.pass();
      next();
    }
  }
  /// Ends one thing that is under way, if there is any.
  void settle_one() {
    if (under_way.empty()) return;
    mds::detail::unique_function<void()> ended = std::move(under_way.front());
    under_way.pop_front();
    post(std::move(ended));
  }
  void end_caller() {
    --callers;
    by.wake();
  }
};

class feed final : public mds::detail::epoch_steps {
 public:
  feed(story& of, char fails, bool busy) : of_(of), fails_(fails), is_idle_(!busy) {
    step('m');
    ++of_.alive;
    is_gone = &of_.gone.emplace_back(false);
  }
  ~feed() override {
    of_.by.pass();
    of_.require(!inside_, "an epoch is destroyed while a step is taken");
    of_.require(has_ended_ || fails_ == 'r', "an epoch is destroyed that was not ended");
    note('g');
    --of_.alive;
    *is_gone = true;
    of_.by.pass();
  }
  bool* is_gone = nullptr;

  void read_first() override { step('r'); }
  void fetch_first(const std::function<bool(std::uint32_t)>& needed_before) override {
    of_.require(needed_before(1) && !needed_before(2), "another epoch's needs");
    step('f');
  }
  void build_first() override { step('b'); }
  // Under the controller's lock.
  void fetch_on() override { of_.require(!has_ended_, "an epoch fetches on that was ended"); }
  void yield(std::uint32_t shard) override { of_.require(shard == 5, "another shard"); }
  [[nodiscard]] std::uint64_t next_use(std::uint32_t shard, std::uint64_t from) const override {
    return shard + from;
  }
  [[nodiscard]] bool is_idle() const override {
    of_.by.pass();
    return is_idle_;
  }
  void async_end(mds::detail::unique_function<void()> ended) override {
    of_.by.pass();
    of_.require(!std::exchange(has_ended_, true), "an epoch ends twice");
    if (is_idle_)
      ended();
    else if (of_.is_settled)
      of_.post(std::move(ended));
    else
      of_.under_way.push_back(std::move(ended));
  }

 private:
  void note(char what) {
    of_.by.say(std::string(1, what));
    ++of_.times[static_cast<std::size_t>(what)];
  }
  void step(char what) {
    of_.by.pass();
    of_.require(!std::exchange(inside_, true), "two threads take steps");
    of_.require(!has_ended_, "a step is taken after the end");
    note(what);
    of_.by.pass();
    inside_ = false;
    if (what == 'f' || what == fails_) of_.is_fetched = true;
    of_.by.wake();
    if (what == fails_) throw what;
  }

  story& of_;
  char fails_;  // at this step
  bool is_idle_;
  bool inside_ = false;
  bool has_ended_ = false;
};

/// Its threads are those of a story. None of them gives its turn away under the lock.
class controller final : public epoch_controller {
 public:
  controller(mds::runtime& unused, story& of) : epoch_controller(unused), of_(of) {}

 private:
  void post(mds::detail::unique_function<void()> work) override { of_.post(std::move(work)); }
  void wait(std::unique_lock<std::mutex>& lock) override {
    lock.unlock();
    of_.by.sleep();
    lock.lock();
  }
  void wake() override { of_.by.wake(); }

  story& of_;
};

void yield(story& of, epoch_controller& it) {
  const std::vector<const bool*> before = of.idle;
  of.by.say("yield");
  it.yield(5);
  of.by.say("yielded");
  of.require(std::ranges::all_of(before, [](const bool* gone) { return *gone; }),
             "an epoch that was left still holds a shard that is to be given up");
}

/// What work of the current epoch does on another thread.
void ask(story& of, epoch_controller& it) {
  for (unsigned i = 0; i < 100 && !of.is_closing; ++i) {
    of.by.pass();
    const std::uint64_t use = it.next_use(1, 2);
    of.require(use == 3 || use == mds::detail::never, "the next use of another shard");
    it.want(readiness::built);
    if (of.one_of(4)) yield(of, it);
    if (of.one_of(3)) it.fetch_on();
    if (of.one_of(4)) of.settle_one();
  }
  of.is_settled = true;
  while (!of.under_way.empty()) of.settle_one();
}

/// The training loop.
class consumer {
 public:
  consumer(story& of, std::shared_ptr<epoch_controller> it) : of_(of), it_(std::move(it)) {}

  void run() {
    const unsigned epochs = 1 + of_.by.random()() % 4;
    for (number_ = 0; number_ < epochs; ++number_) {
      begin();
      if (of_.one_of(8)) break;
      take_and_leave();
      if (of_.one_of(2)) it_->clear();
      if (of_.one_of(4)) wait_for_others();
    }
    close();
  }
  [[nodiscard]] bool is_closed() const { return is_closed_; }

 private:
  [[nodiscard]] static mds::detail::epoch_key key(std::uint64_t epoch) {
    return {.start = {.epoch = epoch}};
  }

  void begin() {
    of_.by.say("begin");
    of_.is_fetched = false;
    it_->begin(
        key(number_),
        [&of = of_, fails = "   mrfb"[of_.by.random()() % 7], busy = of_.one_of(2)] {
          return std::make_unique<feed>(of, fails, busy);
        },
        [](std::uint32_t shard) { return shard == 1; });
    for (auto i = of_.by.random()() % 8; i != 0; --i) of_.by.pass();
    if (of_.one_of(4)) it_->fetch_on();
    if (of_.one_of(2)) return;
    it_->want(readiness::fetched);
    if (of_.one_of(2)) return;
    while (!of_.is_fetched) of_.by.sleep();
  }

  void take_and_leave() {
    of_.by.say("take");
    auto left = it_->take(key(of_.one_of(3) ? number_ + 1 : number_));  // or another one
    of_.by.say(left ? "taken" : "nothing");
    if (of_.one_of(4)) yield(of_, *it_);
    const bool is_there = left != nullptr;
    const bool* const gone = is_there ? static_cast<feed&>(*left).is_gone : nullptr;
    const bool is_idle = is_there && left->is_idle();
    it_->leave(std::move(left));
    of_.by.say("left");
    if (is_there) (is_idle ? of_.idle : busy_).push_back(gone);
    told_.emplace_back(it_->others_gone(), [&of = of_, before = busy_] {
      of.by.wake();
      of.require(std::ranges::all_of(before, [](const bool* each) { return *each; }),
                 "an epoch that was left is said to be gone, and is not");
    });
  }

  void wait_for_others() {
    const std::stop_token gone = it_->others_gone();
    const std::stop_callback woken(gone, [this] { of_.by.wake(); });
    while (gone.stop_possible() && !gone.stop_requested()) of_.by.sleep();
  }

  void close() {
    std::unique_ptr<feed> current;
    if (of_.one_of(2)) current = std::make_unique<feed>(of_, ' ', of_.one_of(2));
    of_.by.say("close");
    of_.is_closing = true;
    it_->close(std::move(current), [this] {
      of_.require(!is_closed_, "a loader ends twice");
      of_.require(of_.alive == 0, "a loader has ended, and an epoch is there");
      of_.by.say("closed");
      is_closed_ = true;
      of_.by.wake();
    });
    it_.reset();
    while (!is_closed_) of_.by.sleep();
  }

  story& of_;
  std::shared_ptr<epoch_controller> it_;
  std::vector<const bool*> busy_{};  // as `story::idle`, of the others
  std::list<std::stop_callback<std::function<void()>>> told_{};
  std::uint64_t number_ = 0;
  bool is_closed_ = false;
};

}  // namespace epoch_orders_test

TEST_CASE("epochs come out right in any order of what the threads of a loader do") {
  using namespace epoch_orders_test;
  mds::runtime unused(1);
  for (unsigned run = 0; run < 300; ++run) {
    const unsigned seed = support::test_seed(run);
    story of(seed);
    auto it = std::make_shared<controller>(unused, of);
    const std::weak_ptr<controller> there = it;
    consumer loop(of, it);
    of.by.add("loop", [&] {
      loop.run();
      of.end_caller();
    });
    of.by.add("work", [&of, same = std::exchange(it, nullptr)]() mutable {
      ask(of, *same);
      same.reset();
      of.end_caller();
    });
    for (const char* name : {"first", "second"}) of.by.add(name, [&] { of.work(); });
    const bool goes_on = of.by.run();
    INFO("MDSTREAM_TEST_SEED=" << seed << of.by.said());
    REQUIRE(goes_on);
    REQUIRE((of.wrong == nullptr ? "" : of.wrong) == std::string());
    REQUIRE(loop.is_closed());
    REQUIRE(there.expired());
    REQUIRE(of.alive == 0);
    REQUIRE(of.times['r'] <= of.times['m']);
    REQUIRE(of.times['f'] <= of.times['r']);
    REQUIRE(of.times['b'] <= of.times['f']);
  }
}
