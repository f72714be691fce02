#include <mdstream/schedule/detail/retry_budget.hpp>
#include <mdstream/schedule/detail/token_bucket.hpp>

#include <chrono>
#include <random>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace rates_test {

namespace mds = mdstream;
using namespace std::chrono_literals;

TEST_CASE("a bucket lets its burst through at once and then keeps its rate", "[schedule]") {
  mds::detail::token_bucket bucket(1000, 100);
  CHECK(bucket.take(60, 0s) == 0s);
  CHECK(bucket.take(40, 0s) == 0s);
  CHECK(bucket.take(50, 0s) == 0s);  // due now, the debt is for the next one
  CHECK(bucket.take(10, 0s) == 50ms);
  CHECK(bucket.take(10, 0s) == 60ms);
  CHECK(bucket.take(1, 10s) == 0s);
  CHECK(bucket.take(99, 10s) == 0s);
  CHECK(bucket.take(10'000, 10s) == 0s);
  CHECK(bucket.take(1, 10s) == 10s);
}

TEST_CASE("a clock that stands or runs backwards does no harm", "[schedule]") {
  mds::detail::token_bucket bucket(1000, 0);
  CHECK(bucket.take(10, 5s) == 0s);
  CHECK(bucket.take(10, 1s) == 10ms);
  CHECK(bucket.take(10, 5s) == 20ms);
}

TEST_CASE("over a long time the rate is right", "[schedule]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  // From 5 on no step earns more than it takes: only what the first earns, 5 at most, is lost.
  const unsigned least = GENERATE(0U, 5U);
  mds::detail::token_bucket bucket(5000, 50);
  std::chrono::nanoseconds now{0}, due{0};
  double total = 0, last = 0;
  for (int i = 0; i < 10'000; ++i) {
    now += std::chrono::microseconds(random() % 1000);
    last = static_cast<double>(least + random() % 10);
    due = now + bucket.take(last, now);
    total += last;
  }
  const double seconds = std::chrono::duration<double>(due).count();
  CHECK(total <= 5000 * seconds + 50 + last + 0.001);
  if (least == 5) CHECK(total >= 5000 * seconds + 50 + last - 5 - 0.001);
}

TEST_CASE("repetitions are earned by successes", "[schedule]") {
  mds::detail::retry_budget budget(2, 0.5);
  CHECK(budget.try_take());
  CHECK(budget.try_take());
  CHECK_FALSE(budget.try_take());
  budget.succeeded();
  CHECK_FALSE(budget.try_take());
  budget.succeeded();
  CHECK(budget.try_take());
  for (int i = 0; i < 100; ++i) budget.succeeded();
  CHECK(budget.try_take());
  CHECK(budget.try_take());
  CHECK_FALSE(budget.try_take());
}

TEST_CASE("calls that pass at the second attempt never spend the budget", "[schedule]") {
  mds::detail::retry_budget budget(100, 0.5);
  int passed = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!budget.try_take()) continue;
    budget.give_back(1);
    budget.succeeded();
    ++passed;
  }
  CHECK(passed == 10'000);
}

TEST_CASE("nothing that is given back exceeds the capacity", "[schedule]") {
  mds::detail::retry_budget budget(2);
  budget.give_back(10);
  CHECK(budget.try_take());
  CHECK(budget.try_take());
  CHECK_FALSE(budget.try_take());
}

}  // namespace rates_test
