#include "quickstart/progress.hpp"

#include "support/catch.hpp"

#include <chrono>

TEST_CASE("the progress line shows rate, stall and loss", "[quickstart]") {
  quickstart::stopwatch watch;
  while (watch.seconds() == 0.0) {  // until the clock has gone on
  }
  const double before = watch.seconds();
  watch.stalled(std::chrono::hours(1));
  const double percent = watch.stall_percent();
  const double behind = watch.seconds();
  CHECK(watch.stall_seconds() == 3600.0);
  CHECK(percent <= 100.0 * 3600.0 / before);
  CHECK(percent >= 100.0 * 3600.0 / behind);
  const std::string text = quickstart::progress_text(
      {.step = 3, .steps = 600, .samples = 72, .loss = 2.3456, .held_out = 2.5}, watch);
  INFO(text);
  for (const char* piece : {"3/600", "samples/s", "stall", "loss 2.346", "held-out 2.500"}) {
    CHECK(text.find(piece) != std::string::npos);
  }
}

TEST_CASE("what was not measured yet is no loss of 0", "[quickstart]") {
  const quickstart::stopwatch watch;
  const std::string text = quickstart::progress_text(
      {.step = 1, .steps = 600, .samples = 24, .loss = 5.5, .held_out = 0}, watch);
  INFO(text);
  CHECK(text.ends_with("held-out -"));
}
