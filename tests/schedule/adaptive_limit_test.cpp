#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/adaptive_limit.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <random>
#include <system_error>
#include <vector>

#include "support/catch.hpp"

namespace adaptive_limit_test {

namespace mds = mdstream;
using mds::errc;
using mds::detail::adaptive_limit;
using namespace std::chrono_literals;
using time = std::chrono::nanoseconds;

/// `count` calls that begin together and end so.
void round_of(adaptive_limit& limit, std::size_t count, const std::error_code& how) {
  const auto begun = limit.started();
  for (std::size_t i = 0; i < count; ++i) limit.ended(begun, how);
}

TEST_CASE("calls that fail together halve the limit once", "[schedule]") {
  adaptive_limit limit({.least = 2, .most = 64});
  CHECK(limit.most() == 64);
  round_of(limit, 64, errc::unavailable);
  CHECK(limit.most() == 32);
  for (int i = 0; i < 20; ++i) round_of(limit, limit.most(), errc::unavailable);
  CHECK(limit.most() == 2);
}

TEST_CASE("what is no overload leaves the limit", "[schedule]") {
  adaptive_limit limit({.most = 8});
  for (const errc code :
       {errc::not_found, errc::corrupt, errc::canceled, errc::permission_denied}) {
    round_of(limit, 8, code);
  }
  CHECK(limit.most() == 8);
}

TEST_CASE("the limit doubles up to half of where the trouble began, then rises by one",
          "[schedule]") {
  adaptive_limit limit({.least = 1, .most = 64});
  for (int i = 0; i < 10; ++i) round_of(limit, limit.most(), errc::unavailable);
  std::vector<std::size_t> rounds{limit.most()};
  while (limit.most() < 64 && rounds.size() < 100) {
    round_of(limit, limit.most(), {});
    rounds.push_back(limit.most());
  }
  REQUIRE(rounds.size() > 6);
  CHECK(std::vector(rounds.begin(), rounds.begin() + 6) ==
        std::vector<std::size_t>{1, 2, 4, 8, 16, 32});
  for (std::size_t i = 6; i < rounds.size(); ++i) CHECK(rounds[i] - rounds[i - 1] <= 1);
  CHECK(rounds.size() < 45);
}

TEST_CASE("least and most are kept, whatever they are", "[schedule]") {
  CHECK(adaptive_limit({.least = 0, .most = 0}).most() == 1);
  CHECK(adaptive_limit({.least = 5, .most = 2}).most() == 5);
}

/// A store in virtual time that answers after `latency`, and refuses calls while `fails(now)`.
struct simulated {
  time latency;
  std::function<bool(time, std::size_t in_flight)> fails;

  struct call {
    time ends;
    bool ok;
    adaptive_limit::ticket begun;
  };

  /// Calls that ended well in each `step` of `length`, with as many callers as the limit lets in.
  std::vector<std::size_t> run(adaptive_limit& limit, time length, time step) const {
    std::vector<std::size_t> good(static_cast<std::size_t>(length / step));
    std::deque<call> calls;
    for (time now{0}; now < length;) {
      while (calls.size() < limit.most()) {
        calls.push_back({now + latency, !fails(now, calls.size() + 1), limit.started()});
      }
      const call next = calls.front();
      calls.pop_front();
      now = next.ends;
      limit.ended(next.begun, next.ok ? std::error_code() : make_error_code(errc::unavailable));
      if (next.ok && now < length) ++good[static_cast<std::size_t>(now / step)];
    }
    return good;
  }
};

TEST_CASE("after a burst of refusals the rate is back within seconds", "[schedule]") {
  const simulated store{50ms, [](time now, std::size_t) { return now >= 5s && now < 10s; }};
  adaptive_limit limit({.most = 64});
  const auto good = store.run(limit, 30s, 1s);
  const auto before = static_cast<double>(good[4]);
  CHECK(static_cast<double>(good[14]) >= 0.95 * before);  // five seconds after
  CHECK(good[7] == 0);
}

TEST_CASE("a store that bears a number of calls is asked with about that many", "[schedule]") {
  const simulated store{10ms, [](time, std::size_t in_flight) { return in_flight > 20; }};
  adaptive_limit limit({.most = 64});
  const auto good = store.run(limit, 20s, 1s);
  for (std::size_t i = 2; i < good.size(); ++i) {
    CHECK(good[i] > 1200);  // of 2000: 20 calls of 10 ms
    CHECK(good[i] <= 20 * 100);
  }
}

}  // namespace adaptive_limit_test
