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

// A program or a selection without tests fails, which Catch2 3 sees to by itself.
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
  return session.run();
}
