#include <mdstream/async/detail/event.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "support/catch.hpp"

namespace event_test {

TEST_CASE("an event may be destroyed as soon as it was waited for", "[async]") {
  for (int i = 0; i < 200; ++i) {
    auto event = std::make_unique<mdstream::detail::one_time_event>();
    std::atomic<bool> before{false};
    std::thread setter([&before, at = event.get()] {
      before = true;
      at->set();
    });
    event->wait();
    CHECK(before);
    event.reset();
    setter.join();
  }
}

TEST_CASE("a wait that has an end tells whether the event came", "[async]") {
  using namespace std::chrono_literals;
  mdstream::detail::one_time_event event;
  CHECK_FALSE(event.wait_for(0ns));
  CHECK_FALSE(event.wait_for(1ms));  // nobody sets it: only the time ends this
  std::thread setter([&] { event.set(); });
  CHECK(event.wait_for(1h));
  CHECK(event.wait_for(0ns));
  setter.join();
}

}  // namespace event_test
