#include <mdstream/async/detail/start_thread.hpp>

#include <mdstream/async/runtime.hpp>

#include <grp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/expect_error.hpp"

namespace start_thread_test {

namespace mds = mdstream;

/// Runs `check` in a child of another user, who may have as many threads as there are: 0 to 2 more
/// can start. Returns its exit status, or -1 when a signal ended it.
template <class Check>
int run_without_threads(Check check) {
  const pid_t child = ::fork();
  if (child == 0) {
    // Root has no limit.
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresuid(54321, 54321, 54321) != 0))
      ::_exit(77);
    const struct rlimit few{2, 2};
    if (::setrlimit(RLIMIT_NPROC, &few) != 0) ::_exit(78);
    ::_exit(check());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace start_thread_test

TEST_CASE("a thread that can not start is an error that names the limits", "[async]") {
  using namespace start_thread_test;
  const int status = run_without_threads([] {
    for (unsigned threads = 1; threads < 9; ++threads) {
      for (unsigned io_threads = 1; io_threads < 4; ++io_threads) {
        const auto failure = support::error_of([&] { mds::runtime tight(threads, io_threads); });
        if (threads + io_threads < 3) continue;  // those may start
        if (!failure || failure->code() != mds::errc::unavailable) return 1;
        const std::string_view text = failure->what();
        if (text.find("ulimit -u is 2") == std::string_view::npos) return 2;
        if (text.find("kernel.threads-max") == std::string_view::npos) return 3;
      }
    }
    return 0;
  });
  CHECK(status == 0);
}
