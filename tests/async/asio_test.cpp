#include <mdstream/async/detail/asio.hpp>

#include <mdstream/async/runtime.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "support/catch.hpp"

namespace asio_test {

namespace mds = mdstream;

using signature = void(std::exception_ptr, std::unique_ptr<int>);

/// A public call as the library has them: it completes from another thread with a value that can
/// only be moved.
template <class Token>
auto async_answer(mds::runtime& threads, bool fails, Token&& token) {
  return mds::detail::initiate<signature>(
      std::forward<Token>(token), [&threads, fails](auto handler) {
        auto done = mds::detail::deliver_on<signature>(threads.get_executor(), std::move(handler));
        threads.post([fails, done = std::move(done)]() mutable {
          if (fails) {
            done(std::make_exception_ptr(mds::error(mds::errc::corrupt, "no answer")), nullptr);
          } else {
            done(nullptr, std::make_unique<int>(42));
          }
        });
      });
}

TEST_CASE("a call takes a callback, a future and a coroutine", "[async]") {
  mds::runtime threads(1);
  std::promise<int> called;
  async_answer(threads, false, [&](std::exception_ptr failure, std::unique_ptr<int> value) {
    called.set_value(failure ? -1 : *value);
  });
  CHECK(called.get_future().get() == 42);

  CHECK(*async_answer(threads, false, asio::use_future).get() == 42);
  CHECK_THROWS_AS(async_answer(threads, true, asio::use_future).get(), mds::error);

  std::future<int> awaited = asio::co_spawn(
      threads.get_executor(),
      [&]() -> asio::awaitable<int> {
        const std::unique_ptr<int> value =
            co_await async_answer(threads, false, asio::use_awaitable);
        co_return *value;
      },
      asio::use_future);
  CHECK(awaited.get() == 42);
}

TEST_CASE("a handler runs on its own executor", "[async]") {
  mds::runtime threads(1);
  asio::io_context own;
  std::thread::id ran_on;
  async_answer(threads, false,
               asio::bind_executor(own, [&](std::exception_ptr, std::unique_ptr<int>) {
                 ran_on = std::this_thread::get_id();
               }));
  own.run();  // the pending handler counts as work, so this waits for it
  CHECK(ran_on == std::this_thread::get_id());
}

TEST_CASE("a cancellation slot becomes a stop request", "[async]") {
  asio::cancellation_signal signal;
  std::stop_source source;
  mds::detail::stop_on_cancel(asio::bind_cancellation_slot(signal.slot(), [] {}), source);
  CHECK_FALSE(source.stop_requested());
  signal.emit(asio::cancellation_type::terminal);
  CHECK(source.stop_requested());

  std::stop_source untouched;
  mds::detail::stop_on_cancel([] {}, untouched);
  CHECK_FALSE(untouched.stop_requested());
}

}  // namespace asio_test
