#include <mdstream/launch/watchdog.hpp>

#include <mdstream/launch/detail/step_pace.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <latch>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace watchdog_test {

using namespace std::chrono_literals;
using mdstream::errc;
using mdstream::launch::hung_status;
using mdstream::launch::watchdog;
using mdstream::launch::watchdog_options;
using mdstream::launch::detail::step_pace;
using time = step_pace::time;

// A pace on a clock that the test turns, asked once a tick as the watchdog asks it.
class scripted {
 public:
  scripted(double factor, time least) : pace(factor, least) {}

  // True if the pace found something overdue on the way.
  bool run(time span) {
    bool found = false;
    for (const time until = now + span; now < until;) {
      now += std::min(pace.tick(), until - now);
      found = pace.overdue(now) || found;
    }
    return found;
  }
  void steps(int count, time each) {
    for (int i = 0; i < count; ++i) {
      CHECK(!run(each));
      pace.step(now);
    }
  }

  step_pace pace;
  time now{};
};

TEST_CASE("nothing is overdue before the first step has ended", "[launch]") {
  scripted loop(10, 60s);
  CHECK(!loop.run(24h));
  loop.pace.step(loop.now);
  CHECK(!loop.pace.median());
  CHECK(!loop.run(60s));
  CHECK(loop.run(1s));
}

TEST_CASE("a step may take a factor of the median, and the least time in any case", "[launch]") {
  scripted quick(10, 60s);
  quick.steps(100, 1s);
  CHECK(quick.pace.median() == 1s);
  CHECK(quick.pace.limit() == 60s);
  scripted slow(10, 60s);
  slow.steps(100, 30s);
  CHECK(!slow.run(300s));
  CHECK(slow.run(10s));
  CHECK(slow.pace.taken(slow.now) == 310s);
  CHECK(slow.pace.steps() == 100);
}

TEST_CASE("the median follows the last steps and not the odd ones", "[launch]") {
  scripted loop(10, 1s);
  loop.steps(2, 1s);
  loop.steps(20, 100ms);
  CHECK(loop.pace.median() == 100ms);
  loop.steps(1, 900ms);
  CHECK(loop.pace.median() == 100ms);
  loop.steps(64, 500ms);
  CHECK(loop.pace.limit() == 5s);
}

TEST_CASE("a factor beyond all bounds is no limit", "[launch]") {
  scripted loop(std::numeric_limits<double>::infinity(), 1s);
  loop.steps(3, 1s);
  CHECK(loop.pace.limit() == time::max());
}

TEST_CASE("pauses do not count, and may take what was said", "[launch]") {
  scripted loop(10, 60s);
  loop.steps(10, 1s);
  CHECK(!loop.run(40s));
  loop.pace.pause(loop.now, 2h);
  loop.pace.pause(loop.now, 1s);
  CHECK(!loop.run(2h));
  loop.pace.resume(loop.now);
  loop.pace.resume(loop.now);
  CHECK(!loop.run(20s));
  CHECK(loop.run(1s));
  loop.pace.step(loop.now);
  loop.pace.pause(loop.now, 2h);
  CHECK(loop.run(2h + 1s));
  // A step ends the pause that it lies in.
  loop.pace.step(loop.now);
  CHECK(!loop.pace.paused());
  CHECK(loop.run(61s));
}

TEST_CASE("time in which the process was stopped does not count", "[launch]") {
  scripted loop(10, 60s);
  loop.steps(10, 1s);
  CHECK(!loop.run(30s));
  loop.now += 24h;
  CHECK(!loop.run(22s));
  CHECK(loop.run(20s));
}

// A process that stands still; what it wrote, and how it ended.
struct ended {
  std::string log;
  int status;
};
ended run(watchdog_options options, const std::function<void(watchdog&)>& loop) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const pid_t child = support::fork_child([&] {
    ::close(ends[0]);
    options.log = ends[1];
    watchdog dog(options);
    loop(dog);
    return 0;
  });
  ::close(ends[1]);
  ended out{};
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    out.log.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(ends[0]);
  out.status = support::status_of(child);
  return out;
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(piece, at)) != std::string::npos; ++at) ++found;
  return found;
}

[[noreturn]] void stand_still() {
  while (true) ::pause();
}

TEST_CASE("a loop that stands still ends with all stacks in the log", "[launch]") {
  // Between two steps nothing stands still for so long.
  const ended got = run({.factor = 2,
                         .least = 3s,
                         .waits_for = [] { return "shard 3 of stream \"c4\""; },
                         .exit_status = 17},
                        [](watchdog& dog) {
                          std::latch named(1);
                          std::thread other([&named] {
                            ::pthread_setname_np(::pthread_self(), "other");
                            named.count_down();
                            stand_still();
                          });
                          named.wait();
                          for (int i = 0; i < 3; ++i) dog.step();
                          stand_still();
                        });
  INFO(got.log);
  CHECK(got.status == 17);
  CHECK(count(got.log, "the step after 3 steps has taken ") == 1);
  CHECK(count(got.log, "\nthread ") >= 3);
  CHECK(count(got.log, "\"other\":\n") == 1);
  CHECK(count(got.log, ", which writes this:\n") == 1);
  CHECK(count(got.log, "does not answer") == 0);
  CHECK(count(got.log, "[0x") > 3);
  CHECK(count(got.log, "the loader: shard 3 of stream \"c4\"\n") == 1);
  CHECK(count(got.log, "the process ends with status 17") == 1);
}

TEST_CASE("a thread that does not answer and an account that fails end it, too", "[launch]") {
  const ended got =
      run({.least = 40ms,
           .waits_for = []() -> std::string { throw std::runtime_error("nobody knows"); }},
          [](watchdog& dog) {
            sigset_t all;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
            dog.step();
            stand_still();
          });
  INFO(got.log);
  CHECK(got.status == hung_status);
  CHECK(count(got.log, "it does not answer; the kernel says: ") == 1);
  CHECK(count(got.log, "the loader: nobody knows\n") == 1);
}

TEST_CASE("an account that throws what is no exception ends it as any other", "[launch]") {
  const ended got =
      run({.least = 40ms, .waits_for = []() -> std::string { throw 7; }}, [](watchdog& dog) {
        dog.step();
        stand_still();
      });
  INFO(got.log);
  CHECK(got.status == hung_status);
  CHECK(count(got.log, "the loader: waits_for threw what is no std::exception\n") == 1);
}

TEST_CASE("many threads that do not answer keep nothing from the log", "[launch]") {
  const ended got = run({.least = 40ms, .waits_for = [] { return "shard 3"; }, .exit_status = 17},
                        [](watchdog& dog) {
                          sigset_t all;
                          ::sigfillset(&all);
                          ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
                          std::vector<std::thread> mute;
                          for (int i = 0; i < 32; ++i) mute.emplace_back(&stand_still);
                          dog.step();
                          stand_still();
                        });
  INFO(got.log);
  CHECK(got.status == 17);
  CHECK(got.log.find("the loader: shard 3\n") < got.log.find("\nthread "));
  CHECK(count(got.log, "it does not answer; the kernel says: ") == 33);
  CHECK(count(got.log, "the process ends with status 17") == 1);
}

TEST_CASE("an account that hangs keeps no stacks from the log", "[launch]") {
  const ended got =
      run({.least = 40ms, .waits_for = []() -> std::string { stand_still(); }}, [](watchdog& dog) {
        dog.step();
        stand_still();
      });
  INFO(got.log);
  CHECK(got.status == hung_status);
  CHECK(count(got.log, "the loader: waits_for has not returned for 5 s\n") == 1);
  CHECK(count(got.log, "\nthread ") >= 3);
  CHECK(count(got.log, "the process ends with status 70") == 1);
}

TEST_CASE("a pause that takes longer than it may ends it", "[launch]") {
  const ended got = run({.least = 40ms}, [](watchdog& dog) {
    dog.step();
    const auto pause = dog.pause(50ms);
    stand_still();
  });
  CHECK(got.status == hung_status);
  CHECK(count(got.log, "the pause after 1 steps has taken ") == 1);
}

TEST_CASE("a loop before its first step is left alone", "[launch]") {
  // Five times what it allows a step; a watchdog that looks later than this would pass unseen.
  const ended got = run({.least = 10ms}, [](watchdog&) { std::this_thread::sleep_for(50ms); });
  CHECK(got.status == 0);
  CHECK(got.log.empty());
}

TEST_CASE("a forked child destroys a watchdog without waiting", "[launch]") {
  watchdog dog({.least = 1h});
  dog.step();
  CHECK(support::in_child([&] {
          dog.step();
          {
            const auto pause = dog.pause();
          }
          watchdog gone = std::move(dog);
          return 0;
        }) == 0);
}

TEST_CASE("options that can not be right are refused", "[launch]") {
  const auto refused = [](const watchdog_options& options) {
    support::expect_error([&] { const watchdog dog(options); }, errc::invalid_argument,
                          {"cannot watch steps"});
  };
  refused({.factor = 0});
  refused({.factor = std::numeric_limits<double>::quiet_NaN()});
  refused({.least = 0s});
}

}  // namespace watchdog_test
