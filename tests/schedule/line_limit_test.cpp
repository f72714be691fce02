#include <mdstream/schedule/detail/line_limit.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "support/catch.hpp"

namespace line_limit_test {

namespace mds = mdstream;
using namespace std::chrono_literals;

/// A line of `carries` bytes a second, on which one request gets no more than `each`.
struct line {
  double carries, each;
  mds::detail::line_limit limit{};
  std::chrono::nanoseconds now{0};

  void run(std::chrono::seconds time, bool bound = true) {
    for (const auto end = now + time; now < end; now += 100ms) {
      const double rate = std::min(carries, each * static_cast<double>(limit.most()));
      limit.came(static_cast<std::uint64_t>(rate / 10), now, bound);
    }
  }
};

TEST_CASE("a slow line gets few requests", "[schedule]") {
  line slow{.carries = 1.25e6, .each = 1.25e6};
  slow.run(10s);
  CHECK(slow.limit.most() == 2);
  for (int i = 0; i < 600; ++i) {
    slow.run(1s);
    CHECK(slow.limit.most() <= 4);  // it looks again now and then
  }
}

TEST_CASE("requests that wait for a distant store are as many as the line carries", "[schedule]") {
  line distant{.carries = 1e9, .each = 2e5};
  distant.run(8s);
  CHECK(distant.limit.most() == 64);
  int fewer = 0;
  for (int i = 0; i < 600; ++i) {
    distant.run(1s);
    fewer += distant.limit.most() < 64 ? 1 : 0;
  }
  CHECK(fewer < 30);

  line middle{.carries = 6e6, .each = 2e5};  // thirty bring all
  middle.run(10s);
  CHECK(middle.limit.most() == 32);
}

TEST_CASE("a line that changes gets another limit", "[schedule]") {
  line one{.carries = 1e9, .each = 2e5};
  one.run(10min);
  one.carries = 1e6;  // others use it
  one.run(20s);
  CHECK(one.limit.most() <= 8);
  one.carries = 0;  // nothing comes at all
  one.run(10min);
  one.carries = 1e9;
  one.run(25s);
  CHECK(one.limit.most() == 64);
}

TEST_CASE("what comes while no request waits says nothing about the limit", "[schedule]") {
  line idle{.carries = 1e6, .each = 1e6};
  idle.run(10min, false);
  CHECK(idle.limit.most() == 16);
}

TEST_CASE("a line of few requests at most stays within them", "[schedule]") {
  line one{.carries = 1e9, .each = 1e6, .limit = mds::detail::line_limit(1)};
  one.run(1min);
  CHECK(one.limit.most() == 1);
  line four{.carries = 1e9, .each = 1e6, .limit = mds::detail::line_limit(4)};
  four.run(1min);
  CHECK(four.limit.most() == 4);
}

}  // namespace line_limit_test
