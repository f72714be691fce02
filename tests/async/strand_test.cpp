#include <mdstream/async/detail/strand.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "support/catch.hpp"

namespace strand_test {

namespace mds = mdstream;

TEST_CASE("a strand runs its work in order, one piece at a time, on any thread", "[async]") {
  mds::runtime threads(4);
  mds::detail::strand line(threads);
  std::vector<int> order;  // of one strand: no lock
  std::promise<void> finished;
  for (int i = 0; i < 1000; ++i) {
    line.post([&, i] {
      order.push_back(i);
      if (i % 3 == 0) line.post([&order] { order.push_back(-1); });
    });
  }
  line.post([&] { line.post([&] { finished.set_value(); }); });
  finished.get_future().wait();
  std::erase(order, -1);
  REQUIRE(order.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("other work of a pool of one thread has its turn between that of a strand", "[async]") {
  mds::runtime threads(1);
  mds::detail::strand line(threads);
  std::vector<int> order;
  std::promise<void> begin, finished;
  threads.post([&] { begin.get_future().wait(); });
  line.post([&] { order.push_back(1); });
  line.post([&] {
    order.push_back(3);
    finished.set_value();
  });
  threads.post([&] { order.push_back(2); });
  begin.set_value();
  finished.get_future().wait();
  CHECK(order == std::vector{1, 2, 3});
}

TEST_CASE("what a strand has queued is run when the strand is gone", "[async]") {
  std::atomic<int> ran{0};
  {
    mds::runtime threads(2);
    auto line = std::make_unique<mds::detail::strand>(threads);
    for (int i = 0; i < 100; ++i) line->post([&ran] { ++ran; });
    line.reset();
  }
  CHECK(ran == 100);
}

}  // namespace strand_test
