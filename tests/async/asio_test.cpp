#include <mdstream/async/detail/asio.hpp>

#include <mdstream/async/runtime.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/execution_context.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <exception>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

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

/// An executor whose context may have ended when `dispatch` returns: another thread has run the
/// handler.
struct ending_executor {
  struct state : asio::execution_context {
    int work = 0;
    bool over = false, used_after_end = false;
  };

  state* of;

  [[nodiscard]] asio::execution_context& context() const noexcept { return *of; }
  void on_work_started() const noexcept { change(1); }
  void on_work_finished() const noexcept { change(-1); }
  template <class Function, class Allocator>
  void dispatch(Function&& function, const Allocator&) const {
    std::thread([run = std::decay_t<Function>(std::forward<Function>(function))]() mutable {
      run();
    }).join();
    of->over = true;
  }
  template <class Function, class Allocator>
  void post(Function&& function, const Allocator& allocator) const {
    dispatch(std::forward<Function>(function), allocator);
  }
  template <class Function, class Allocator>
  void defer(Function&& function, const Allocator& allocator) const {
    dispatch(std::forward<Function>(function), allocator);
  }
  friend bool operator==(const ending_executor&, const ending_executor&) = default;

 private:
  void change(int by) const noexcept {
    of->used_after_end |= of->over;
    of->work += by;
  }
};

TEST_CASE("a completion does not touch a runtime whose thread has run the handler", "[async]") {
  ending_executor::state own;
  bool ran = false;
  mds::detail::deliver_on<void()>(ending_executor{&own}, [&] { ran = true; })();
  CHECK(ran);
  CHECK(own.over);
  CHECK_FALSE(own.used_after_end);
}

TEST_CASE("another context has work until a completion has left it", "[async]") {
  mds::runtime threads(1);
  ending_executor::state own;
  int work_in_handler = 0;
  auto done = mds::detail::deliver_on<void()>(
      threads.get_executor(),
      asio::bind_executor(ending_executor{&own}, [&] { work_in_handler = own.work; }));
  CHECK(own.work == 1);
  done();
  CHECK(work_in_handler == 1);
  CHECK(own.work == 0);
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
