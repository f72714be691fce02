#include <mdstream/async/runtime.hpp>

#include <asio/steady_timer.hpp>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>

#include "support/catch.hpp"

namespace runtime_test {

namespace mds = mdstream;
using namespace std::chrono_literals;

TEST_CASE("a runtime has as many workers as asked for", "[async]") {
  CHECK(mds::runtime(3).threads() == 3);
  CHECK(mds::runtime().threads() >= 1);
}

TEST_CASE("work runs on the pool and timers on the io thread", "[async]") {
  mds::runtime threads(1);
  std::promise<std::thread::id> worker, timer, handler;
  threads.post([&] { worker.set_value(std::this_thread::get_id()); });
  threads.after(1ms, {}, [&](std::error_code failure) {
    CHECK_FALSE(failure);
    timer.set_value(std::this_thread::get_id());
  });
  asio::post(threads.get_executor(), [&] { handler.set_value(std::this_thread::get_id()); });
  const std::thread::id io = timer.get_future().get();
  CHECK(io == handler.get_future().get());
  CHECK(io != worker.get_future().get());
  CHECK(io != std::this_thread::get_id());
}

TEST_CASE("each io thread has its own context and its own services", "[async]") {
  struct io_service {
    explicit io_service(asio::io_context& its) : io(&its) {}
    asio::io_context* io;
  };
  mds::runtime threads(1, 3);
  REQUIRE(threads.io_threads() == 3);
  std::set<std::thread::id> seen;
  for (std::size_t i = 0; i < 3; ++i) {
    std::promise<std::thread::id> thread_id;
    asio::post(threads.io(i), [&] {
      CHECK(threads.runs_here());
      thread_id.set_value(std::this_thread::get_id());
    });
    seen.insert(thread_id.get_future().get());
    CHECK(threads.service<io_service>(i).io == &threads.io(i));
    CHECK(&threads.service<io_service>(i) == &threads.service<io_service>(i));
  }
  CHECK(seen.size() == 3);
  CHECK_FALSE(threads.runs_here());
}

TEST_CASE("a timer waits its time, or until it is stopped", "[async]") {
  mds::runtime threads(1);
  const auto began = std::chrono::steady_clock::now();
  std::promise<std::error_code> waited;
  threads.after(20ms, {}, [&](std::error_code failure) { waited.set_value(failure); });
  CHECK_FALSE(waited.get_future().get());
  CHECK(std::chrono::steady_clock::now() - began >= 20ms);  // a loaded machine takes longer

  std::stop_source stop;
  std::promise<std::error_code> stopped;
  threads.after(1h, stop.get_token(), [&](std::error_code failure) { stopped.set_value(failure); });
  stop.request_stop();
  CHECK(stopped.get_future().get() == mds::errc::canceled);

  std::promise<std::error_code> late;
  threads.after(1h, stop.get_token(), [&](std::error_code failure) { late.set_value(failure); });
  CHECK(late.get_future().get() == mds::errc::canceled);
}

TEST_CASE("timers that are stopped while they expire complete once", "[async]") {
  mds::runtime threads(1);
  std::atomic<int> completed{0};
  for (int i = 0; i < 200; ++i) {
    std::stop_source stop;
    std::promise<void> done;
    threads.after(std::chrono::microseconds(i), stop.get_token(), [&](std::error_code) {
      ++completed;
      done.set_value();
    });
    // So that some expire before, some after and some at the stop; each has to complete once.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    stop.request_stop();
    done.get_future().wait();
  }
  CHECK(completed == 200);
}

TEST_CASE("a runtime ends with timers pending", "[async]") {
  // One that waited for the timer would be ended by the limit of the tests.
  bool called = false;
  {
    mds::runtime threads(1);
    threads.after(1h, {}, [&](std::error_code) { called = true; });
  }
  CHECK_FALSE(called);
}

TEST_CASE("a handler that is dropped may hold a timer of another io thread", "[async]") {
  // The address sanitizer sees one that outlives its io_context.
  std::weak_ptr<asio::steady_timer> dropped;
  {
    mds::runtime threads(1, 3);
    const auto limit = std::make_shared<asio::steady_timer>(threads.io(0), 1h);
    limit->async_wait([](std::error_code) {});
    const auto answer = std::make_shared<asio::steady_timer>(threads.io(2), 1h);
    answer->async_wait([answer, limit](std::error_code) { limit->cancel(); });
    dropped = limit;
  }
  CHECK(dropped.expired());
}

TEST_CASE("a runtime that ends runs its pool's work and the handlers that this completes",
          "[async]") {
  std::atomic<int> handled{0}, waited{0};
  {
    mds::runtime threads(2, 2);
    for (int i = 0; i < 100; ++i) {
      threads.post([&] { asio::post(threads.get_executor(), [&] { ++handled; }); });
      threads.post([&] {
        std::promise<void> passed;
        asio::post(threads.io(1), [&] { passed.set_value(); });
        passed.get_future().wait();
        ++waited;
      });
    }
  }
  CHECK(handled == 100);
  CHECK(waited == 100);
}

}  // namespace runtime_test
