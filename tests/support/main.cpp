#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/seed.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#ifdef CATCH_CONFIG_RUNNER
/// Keeps the names of cases that assert nothing, in none of their sections.
struct vacuous_cases : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;
  void testCaseEnded(const Catch::TestCaseStats& ended) override {
    if (ended.totals.assertions.total() == 0) names.push_back(ended.testInfo.name);
  }
  static inline std::vector<std::string> names;
};
CATCH_REGISTER_LISTENER(vacuous_cases)
#endif

// A program or a selection without tests fails, which Catch2 3 sees to by itself, and so does a
// case without an assertion: one that is for other machines or servers says so by SUCCEED.
int main(int count, char* arguments[]) {
  Catch::Session session;
#ifdef CATCH_CONFIG_RUNNER
  session.configData().warnings = Catch::WarnAbout::NoTests;
#endif
  const int refused = session.applyCommandLine(count, arguments);
  if (refused != 0) return refused;
  if (!session.configData().showHelp) {
    session.configData().rngSeed = support::test_seed();
    std::printf("MDSTREAM_TEST_SEED=%u\n", support::test_seed());
    std::fflush(stdout);
    // For the processes that tests start.
    ::setenv("MDSTREAM_TEST_SEED", std::to_string(support::test_seed()).c_str(), 1);
  }
  const int failed = session.run();
#ifdef CATCH_CONFIG_RUNNER
  for (const std::string& name : vacuous_cases::names)
    std::printf("no assertion in \"%s\"\n", name.c_str());
  if (failed == 0 && !vacuous_cases::names.empty()) return 1;
#endif
  return failed;
}
