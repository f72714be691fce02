#include <mdstream/net/detail/program.hpp>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "net/keys.hpp"
#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace program_test {

namespace mds = mdstream;
using mds::errc;
using namespace std::chrono_literals;
using support::expect_error;
namespace detail = mds::net::detail;

detail::program shell(const std::string& script) { return {.words = {"/bin/sh", "-c", script}}; }

detail::program_result run(const detail::program& what) {
  return detail::run_program(what, "the program", {});
}

TEST_CASE("a program's texts and its status are taken apart", "[net]") {
  const auto said = run(shell("echo out; echo err >&2; exit 3"));
  CHECK(said.output == "out\n");
  CHECK(said.errors == "err\n");
  CHECK(said.status == 3);
  CHECK(run(shell("kill -9 $$")).status == 128 + SIGKILL);
  CHECK(run(shell("cat")).output.empty());  // it has nothing to read
}

TEST_CASE("a program gets the variables that are set for it beside this process's", "[net]") {
  detail::program what = shell("printf '%s %s' \"$MDSTREAM_TEST_ONE\" \"${HOME:+home}\"");
  what.variables = {{"MDSTREAM_TEST_ONE", "a b"}};
  CHECK(run(what).output == "a b home");
  what.variables.emplace_back("HOME", "");
  CHECK(run(what).output == "a b ");
}

TEST_CASE("a program inherits no descriptors", "[net]") {
  const int open = ::open("/dev/null", O_RDONLY);  // not closed by exec
  REQUIRE(open > 2);
  const int kept = ::fcntl(open, F_DUPFD, 100);
  // ls has one more of its own, the first that is free.
  CHECK(std::stoi(run(shell("ls /proc/self/fd | sort -n | tail -1")).output) < kept);
  ::close(open);
  ::close(kept);
}

TEST_CASE("a program gets signals as by default, and none held back", "[net]") {
  sigset_t all, before;
  ::sigfillset(&all);
  struct sigaction ignored{}, usual{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGTERM, &ignored, &usual);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto said = run(shell("kill -15 $$; echo still here"));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::sigaction(SIGTERM, &usual, nullptr);
  CHECK(said.status == 128 + SIGTERM);
  CHECK(said.output.empty());
}

TEST_CASE("a program that floods its error output ends like others", "[net]") {
  const auto said = run(shell("head -c 1000000 /dev/zero >&2; echo done"));
  CHECK(said.output == "done\n");
  CHECK(said.errors.size() <= 64 * 1024 + 1);
}

TEST_CASE("a program that prints too much, hangs or does not start is refused in words", "[net]") {
  expect_error([] { (void)run(shell("yes hush")); }, errc::permission_denied,
               {"the program", "64 KiB"});
  expect_error([] { (void)run({.words = {"/nonexistent/hush"}}); }, errc::permission_denied,
               {"the program", "does not start"});
  detail::program what = shell("sleep 1000 & sleep 1000");
  what.most_time = 1ms;
  expect_error([&] { (void)run(what); }, errc::permission_denied, {"did not end within"});
}

TEST_CASE("a killed program takes along what it started", "[net]") {
  const keys::home home("");
  const std::string pid = home.path() + "/pid";
  detail::program what =
      shell("sleep 1000 & echo $! >" + pid + ".new; mv " + pid + ".new " + pid + "; sleep 1000");
  std::stop_source stop;
  const std::jthread asks([&] {
    while (::access(pid.c_str(), R_OK) != 0) std::this_thread::sleep_for(1ms);
    stop.request_stop();
  });
  CHECK_THROWS_AS(detail::run_program(what, "the program", stop.get_token()), mds::error);
  pid_t started = 0;
  std::ifstream(pid) >> started;
  REQUIRE(started > 1);
  // Gone, or dead and not yet waited for by the parent that it got.
  const auto state = [&] {
    std::ifstream in("/proc/" + std::to_string(started) + "/stat");
    std::string id, name, letter;
    in >> id >> name >> letter;
    return letter;
  };
  while (!state().empty() && state() != "Z") std::this_thread::sleep_for(1ms);
}

TEST_CASE("a program that leaves another behind is not waited for", "[net]") {
  const auto said = run(shell("sleep 1000 & echo $!"));
  CHECK(said.status == 0);
  const int left = std::stoi(said.output);
  CHECK(::kill(left, SIGKILL) == 0);
}

TEST_CASE("programs are found in the absolute directories of PATH", "[net]") {
  CHECK(detail::find_program("/bin/sh", "") == "/bin/sh");
  CHECK(detail::find_program("sh", "/nonexistent:/bin") == "/bin/sh");
  CHECK_FALSE(detail::find_program("sh", "bin:::"));
  CHECK_FALSE(detail::find_program("sh", ""));
  CHECK_FALSE(detail::find_program("/nonexistent/sh", "/bin"));
}

}  // namespace program_test
