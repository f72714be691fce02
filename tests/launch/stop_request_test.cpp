#include <mdstream/launch/stop_request.hpp>

#include "support/catch.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

namespace stop_request_test {

using namespace std::chrono_literals;
using mdstream::errc;
using mdstream::launch::requeue_status;
using mdstream::launch::stop_options;
using mdstream::launch::stop_request;

// A process that runs until it is asked to end, and says over a pipe where it is.
class trainer {
 public:
  explicit trainer(const stop_options& options, bool saves = true) {
    REQUIRE(::pipe(said_.data()) == 0);
    pid_ = support::fork_child([&] {
      stop_request stop(options);
      say('r');
      while (!stop.requested()) std::this_thread::sleep_for(1ms);
      say('s');
      while (!saves) std::this_thread::sleep_for(1ms);
      return stop.exit_status();
    });
    CHECK(hears() == 'r');
  }
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;
  ~trainer() {
    for (const int fd : said_) ::close(fd);
  }

  void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }
  [[nodiscard]] char hears() const {
    char word = 0;
    CHECK(::read(said_[0], &word, 1) == 1);
    return word;
  }
  [[nodiscard]] int exit_status() const { return support::status_of(pid_); }
  [[nodiscard]] int deadly_signal() const {
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }

 private:
  void say(char word) const {
    if (::write(said_[1], &word, 1) != 1) ::_exit(98);
  }

  std::array<int, 2> said_{};
  pid_t pid_ = 0;
};

TEST_CASE("a signal lets the loop save and end with the status for another start", "[launch]") {
  for (const int number : {SIGTERM, SIGUSR1}) {
    const trainer one({});
    one.signal(number);
    CHECK(one.hears() == 's');
    CHECK(one.exit_status() == requeue_status);
  }
  const trainer own({.signals = {{SIGUSR2, 5s}}, .exit_status = 42});
  own.signal(SIGUSR2);
  CHECK(own.exit_status() == 42);
  const trainer other({.signals = {{SIGUSR2, 5s}}});
  other.signal(SIGUSR1);
  CHECK(other.deadly_signal() == SIGUSR1);
}

TEST_CASE("a second signal ends the process at once", "[launch]") {
  const trainer one({.repeats_within = 0s}, false);
  one.signal(SIGTERM);
  CHECK(one.hears() == 's');
  one.signal(SIGUSR1);
  CHECK(one.deadly_signal() == SIGUSR1);
}

TEST_CASE("what a launcher sends twice is one request", "[launch]") {
  stop_request stop({.repeats_within = 1h});
  CHECK(std::raise(SIGTERM) == 0);
  CHECK(std::raise(SIGTERM) == 0);
  CHECK(std::raise(SIGUSR1) == 0);
  CHECK(stop.signal() == SIGTERM);
}

TEST_CASE("the time that is left is that of the signal", "[launch]") {
  stop_request stop({.signals = {{SIGTERM, 1h}, {SIGUSR1, 2h}}});
  CHECK(!stop.requested());
  CHECK(stop.exit_status() == 0);
  CHECK(stop.signal() == 0);
  CHECK(stop.time_left() == std::chrono::nanoseconds::max());
  CHECK(std::raise(SIGUSR1) == 0);
  CHECK(stop.requested());
  CHECK(stop.exit_status() == requeue_status);
  CHECK(stop.signal() == SIGUSR1);
  CHECK(stop.time_left() > 1h);
  CHECK(stop.time_left() <= 2h);
  stop.request();  // asked before
  CHECK(stop.time_left() > 1h);
  stop.request(-1s);  // a notice of the cloud that names a time that is past
  CHECK(stop.time_left() < 0s);
}

TEST_CASE("ranks end at the same step", "[launch]") {
  stop_request stop({.signals = {{SIGTERM, 1h}}, .repeats_within = 0s});
  const auto nobody = [](bool is_requested) { return is_requested; };
  CHECK(!stop.requested(nobody));
  CHECK(!stop.requested());
  CHECK(stop.requested([](bool is_requested) {
    CHECK(!is_requested);
    return true;
  }));
  CHECK(stop.requested());
  CHECK(stop.signal() == 0);
  CHECK(stop.exit_status() == requeue_status);
  CHECK(stop.time_left() <= 1h);
  // This rank's own signal, which comes late, is the first one here.
  CHECK(std::raise(SIGTERM) == 0);
  CHECK(stop.signal() == SIGTERM);
  CHECK(stop.requested(nobody));
}

TEST_CASE("signals have the meaning of before again afterwards", "[launch]") {
  static volatile std::sig_atomic_t seen = 0;
  struct sigaction own{}, before{};
  own.sa_handler = [](int) { seen = 1; };
  REQUIRE(::sigaction(SIGUSR2, &own, &before) == 0);
  {
    const stop_request stop({.signals = {{SIGUSR2, 1s}, {SIGUSR2, 2s}}});
  }
  CHECK(std::raise(SIGUSR2) == 0);
  CHECK(seen == 1);
  {
    const stop_request another;
  }
  REQUIRE(::sigaction(SIGUSR2, &before, nullptr) == 0);
}

TEST_CASE("one at a time hears signals, and only those that can be caught", "[launch]") {
  {
    const stop_request first;
    support::expect_error([] { const stop_request second; }, errc::invalid_argument,
                          {"cannot hear signals", "another stop_request"});
  }
  for (const int number : {SIGKILL, 0, -1, 9'999})
    support::expect_error(
        [&] { const stop_request none({.signals = {{SIGUSR2, 1s}, {number, 1s}}}); },
        errc::invalid_argument, {"cannot catch signal " + std::to_string(number)});
  // None of those is left behind.
  const stop_request next({.signals = {{SIGTERM, 1s}}});
  struct sigaction now{};
  REQUIRE(::sigaction(SIGUSR2, nullptr, &now) == 0);
  CHECK(now.sa_handler == SIG_DFL);
}

}  // namespace stop_request_test
