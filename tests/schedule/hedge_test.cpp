#include <mdstream/schedule/hedge.hpp>

#include <chrono>

#include "support/catch.hpp"

namespace hedge_test {

namespace mds = mdstream;
using namespace std::chrono_literals;

TEST_CASE("patience is learnt from what calls took, and never below its least", "[schedule]") {
  mds::hedge_timer timer({.slowest = 0.02, .least = 5ms});
  CHECK_FALSE(timer.patience());
  for (int i = 0; i < 31; ++i) timer.ended(10ms);
  CHECK_FALSE(timer.patience());
  timer.ended(10ms);
  CHECK(timer.patience() == 10ms);
  for (int i = 0; i < 128; ++i) timer.ended(i % 64 == 0 ? 1s : 20ms);  // 2 of 128 are slow
  CHECK(timer.patience() == 20ms);
  for (int i = 0; i < 128; ++i) timer.ended(i % 16 == 0 ? 1s : 20ms);
  CHECK(timer.patience() == 1s);
  for (int i = 0; i < 128; ++i) timer.ended(1us);
  CHECK(timer.patience() == 5ms);
}

TEST_CASE("second calls stay a part of all", "[schedule]") {
  mds::hedge_timer timer({.most_extra = 0.05});
  int seconds = 0;
  for (int i = 0; i < 1000; ++i) {
    if (timer.try_second()) ++seconds;
    timer.ended(1ms);
  }
  CHECK(seconds >= 48);
  CHECK(seconds <= 52);
}

}  // namespace hedge_test
