#include <mdstream/schedule/detail/claim_order.hpp>

#include <cstddef>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace claim_order_test {

using mdstream::detail::claim_order;

TEST_CASE("a refusal is one for what was asked for behind it, and for nothing else", "[schedule]") {
  claim_order order;
  const auto first = order.ask(), second = order.ask(), third = order.ask();
  order.refuse(second);
  const auto asked_after = order.ask();
  CHECK_FALSE(order.is_refused(first));
  CHECK_FALSE(order.is_refused(second));  // it has its own answer
  CHECK(order.is_refused(third));
  CHECK_FALSE(order.is_refused(asked_after));
  order.refuse(first);
  CHECK(order.is_refused(second));
  CHECK(order.is_refused(asked_after));
}

TEST_CASE("who left is not spoken of any more", "[schedule]") {
  claim_order order;
  const auto first = order.ask(), second = order.ask();
  order.leave(second);
  order.refuse(first);
  CHECK_FALSE(order.is_refused(second));
  order.leave(first);
  order.refuse(first);
  CHECK_FALSE(order.is_refused(order.ask()));
}

TEST_CASE("refused is what some refusal since the asking was before", "[schedule]") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  struct refusal {
    claim_order::ticket of, last;
  };
  claim_order order;
  std::vector<refusal> refusals;
  std::vector<claim_order::ticket> under_way;
  for (int step = 0; step < 3000; ++step) {
    const auto any = [&] { return under_way[random() % under_way.size()]; };
    if (under_way.size() < 2 || random() % 3 == 0) {
      under_way.push_back(order.ask());
    } else if (random() % 2 == 0) {
      refusals.push_back({any(), under_way.back()});
      order.refuse(refusals.back().of);
    } else if (random() % 2 == 0) {
      const auto at = static_cast<std::ptrdiff_t>(random() % (under_way.size() - 1));
      order.leave(under_way[static_cast<std::size_t>(at)]);
      under_way.erase(under_way.begin() + at);
    }
    const claim_order::ticket looked_at = any();
    bool expected = false;
    for (const refusal& each : refusals)
      expected = expected || (each.of < looked_at && looked_at <= each.last);
    REQUIRE(order.is_refused(looked_at) == expected);
  }
}

}  // namespace claim_order_test
