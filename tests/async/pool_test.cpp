#include <mdstream/async/detail/pool.hpp>

#include <atomic>
#include <future>
#include <vector>

#include "support/catch.hpp"

namespace pool_test {

TEST_CASE("a pool runs everything it was given before it ends", "[async]") {
  std::atomic<int> ran{0};
  {
    mdstream::detail::thread_pool pool(3);
    CHECK(pool.size() == 3);
    for (int i = 0; i < 1000; ++i) pool.post([&ran] { ++ran; });
  }
  CHECK(ran == 1000);
}

TEST_CASE("one thread runs its queue in order, and work may add work", "[async]") {
  std::vector<int> order;
  std::promise<void> finished;
  {
    mdstream::detail::thread_pool pool(0);
    CHECK(pool.size() == 1);
    pool.post([&] {
      order.push_back(1);
      pool.post([&] { order.push_back(2); });
      pool.post([&] {
        order.push_back(3);
        finished.set_value();
      });
    });
    finished.get_future().wait();
  }
  CHECK(order == std::vector<int>{1, 2, 3});
}

}  // namespace pool_test
