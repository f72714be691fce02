#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

// A program or a selection without tests fails, which Catch2 3 sees to by itself.
int main(int count, char* arguments[]) {
  Catch::Session session;
#ifdef CATCH_CONFIG_RUNNER
  session.configData().warnings = Catch::WarnAbout::NoTests;
#endif
  return session.run(count, arguments);
}
