#include <mdstream/stream/detail/batch_ring.hpp>

#include <atomic>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "support/catch.hpp"
#include "support/waits_at_end.hpp"

// Batches ahead over a scripted source.

namespace mds = mdstream;

namespace batch_ring_test {

struct numbered final : mds::detail::untyped_batch {
  void clear() override {}
};

/// Batches of one sample. The worker of the first one stays inside `prepare` until the ring is told
/// to stop, and the ring does not get beyond that before the call for the batch is answered.
class stopped_while_preparing final : public mds::detail::batch_source {
 public:
  std::latch inside{1};
  std::promise<void> answered;

  void announce(std::stop_token stop, mds::detail::unique_function<bool()> take,
                mds::detail::unique_function<void(std::exception_ptr)> done) override {
    if (!on_stop_) on_stop_.emplace(std::move(stop), stop_handler{this});
    take();
    done(nullptr);
  }
  bool take(mds::detail::batch_job& into) override {
    into.samples.assign(1, {});
    return true;
  }
  void prepare(mds::detail::batch_job&, std::size_t) const override {
    const_cast<std::latch&>(inside).count_down();
    stopping_.get_future().wait();
  }
  std::uint64_t finish(mds::detail::batch_job& of) override {
    of.batch = std::make_unique<numbered>();
    return 1;
  }

 private:
  struct stop_handler {
    stopped_while_preparing* of;
    void operator()() const {
      of->stopping_.set_value();
      of->answered.get_future().wait();
    }
  };

  mutable std::promise<void> stopping_;
  std::optional<std::stop_callback<stop_handler>> on_stop_;
};

TEST_CASE("a call for a batch that is under way when its ring ends is canceled") {
  mds::runtime threads(2);
  stopped_while_preparing source;
  std::exception_ptr failure;
  bool has_batch = false;
  {
    support::waits_at_end<mds::detail::batch_ring> ring(
        source, threads, 1,
        mds::detail::ring_limits{.bytes = 1, .batches = 1, .one_at_a_time = true});
    ring.async_next({}, [&](std::exception_ptr why, mds::detail::batch_ring::batch_pointer got) {
      failure = std::move(why);
      has_batch = got != nullptr;
      source.answered.set_value();
    });
    source.inside.wait();
  }
  CHECK(!has_batch);
  REQUIRE(failure);
  CHECK(mds::code_of(failure) == make_error_code(mds::errc::canceled));
}

/// Batches of one sample. Notes whether a call has been answered by the time the thread that made
/// it asks for the batch behind.
class noting_answers final : public mds::detail::batch_source {
 public:
  explicit noting_answers(mds::runtime& threads) : threads_(threads) {}

  bool is_calling = false, has_announced = false, was_answered = false;
  std::atomic<bool> answered{false};

  void announce(std::stop_token, mds::detail::unique_function<bool()> take,
                mds::detail::unique_function<void(std::exception_ptr)> done) override {
    if (is_calling && !threads_.runs_here()) {
      std::promise<void> passed;  // by the only thread, which does all that was posted before
      threads_.post([&] { passed.set_value(); });
      passed.get_future().wait();
      has_announced = true;
      was_answered = answered;
    }
    take();
    done(nullptr);
  }
  bool take(mds::detail::batch_job& into) override {
    into.samples.assign(1, {});
    return true;
  }
  void prepare(mds::detail::batch_job&, std::size_t) const override {}
  std::uint64_t finish(mds::detail::batch_job& of) override {
    of.batch = std::make_unique<numbered>();
    return 1;
  }

 private:
  mds::runtime& threads_;
};

TEST_CASE("a call is answered last, because its handler may end the loader") {
  std::promise<void> over;
  mds::runtime threads(1);
  noting_answers source(threads);
  support::waits_at_end<mds::detail::batch_ring> ring(
      source, threads, 1,
      mds::detail::ring_limits{.bytes = 8, .batches = 1, .one_at_a_time = true});
  ring.start();
  while (ring.ready() == 0) std::this_thread::yield();
  source.is_calling = true;
  ring.async_next({}, [&](std::exception_ptr, mds::detail::batch_ring::batch_pointer) {
    source.answered = true;
    over.set_value();
  });
  over.get_future().wait();
  CHECK(source.has_announced);
  CHECK_FALSE(source.was_answered);
}

}  // namespace batch_ring_test
