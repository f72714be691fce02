#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "support/golden_file.hpp"
#include "support/seed.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

std::string support::golden_file(const std::string& name) {
  return MDSTREAM_TEST_DATA "/golden/" + name;
}

#ifdef CATCH_CONFIG_RUNNER  // Catch2 2
using listener_base = Catch::TestEventListenerBase;
#else
using listener_base = Catch::EventListenerBase;
#endif

/// Keeps the names of cases that assert nothing, in none of their sections, and what cases that are
/// left out give as their reason.
struct unseen_cases : listener_base {
#ifdef CATCH_CONFIG_RUNNER
  using listener_base::listener_base;
  bool assertionEnded(const Catch::AssertionStats& ended) override {
    look_at(ended.assertionResult);
    return false;
  }
#else
  explicit unseen_cases(const Catch::IConfig* config) : listener_base(config) {
    m_preferences.shouldReportAllAssertions = true;
  }
  void assertionEnded(const Catch::AssertionStats& ended) override {
    look_at(ended.assertionResult);
  }
#endif
  void testCaseStarting(const Catch::TestCaseInfo& info) override { name = info.name; }
  void testCaseEnded(const Catch::TestCaseStats& ended) override {
    if (ended.totals.assertions.total() == 0) lines.push_back("no assertion in \"" + name + "\"");
    vacuous = vacuous || ended.totals.assertions.total() == 0;
  }
  void look_at(const Catch::AssertionResult& result) {
    if (result.getTestMacroName() == "SUCCEED")
      lines.push_back("left out: \"" + name + "\": " + std::string(result.getMessage()));
  }
  std::string name;
  static inline std::vector<std::string> lines;
  static inline bool vacuous = false;
};
CATCH_REGISTER_LISTENER(unseen_cases)

// A program or a selection without tests fails, which Catch2 3 sees to by itself, and so does a
// case without an assertion: one that is for other machines or servers says so by SUCCEED, and has
// to run on another (tests/check_run.py).
int main(int count, char* arguments[]) {
  Catch::Session session;
#ifdef CATCH_CONFIG_RUNNER
  session.configData().warnings = Catch::WarnAbout::NoTests;
#endif
  const auto before = session.configData().rngSeed;
  const int refused = session.applyCommandLine(count, arguments);
  if (refused != 0) return refused;
  if (!session.configData().showHelp) {
    if (session.configData().rngSeed != before)  // --rng-seed
      ::setenv("MDSTREAM_TEST_SEED", std::to_string(session.configData().rngSeed).c_str(), 1);
    session.configData().rngSeed = support::test_seed();
    std::printf("MDSTREAM_TEST_SEED=%u\n", support::test_seed());
    std::fflush(stdout);
    // For the processes that tests start.
    ::setenv("MDSTREAM_TEST_SEED", std::to_string(support::test_seed()).c_str(), 1);
  }
  const int failed = session.run();
  for (const std::string& line : unseen_cases::lines) std::printf("%s\n", line.c_str());
  return failed == 0 && unseen_cases::vacuous ? 1 : failed;
}
