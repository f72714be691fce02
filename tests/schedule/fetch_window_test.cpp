#include <mdstream/schedule/detail/fetch_window.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>

#include "support/catch.hpp"
#include "support/seed.hpp"

namespace mds = mdstream;

TEST_CASE("shards are fetched in the order of the batches, each once, a few at a time") {
  mds::detail::fetch_window window(10, 2);
  for (const std::uint32_t shard : {3U, 1U, 3U, 7U}) window.want(shard);
  CHECK(window.next() == 3);
  CHECK(window.next() == 1);
  CHECK_FALSE(window.next());
  window.fetched(3);
  CHECK(window.next() == 7);
  CHECK(window.in_flight() == 2);
}

TEST_CASE("the last batch that wanted a shard is told apart, and what it left is not fetched") {
  mds::detail::fetch_window window(4, 4);
  CHECK(window.want(2));
  CHECK_FALSE(window.want(2));
  CHECK_FALSE(window.leave(2));
  CHECK(window.wanted(2));
  CHECK(window.leave(2));
  CHECK_FALSE(window.wanted(2));
  CHECK_FALSE(window.next());
}

TEST_CASE("a shard that is wanted again while on its way is not fetched twice") {
  mds::detail::fetch_window window(4, 4);
  window.want(0);
  CHECK(window.next() == 0);
  CHECK(window.leave(0));
  CHECK(window.want(0));
  CHECK_FALSE(window.next());
  window.fetched(0);
  CHECK_FALSE(window.next());
}

TEST_CASE("what is local already is not fetched") {
  mds::detail::fetch_window window(4, 4);
  window.want(0);
  window.want(1);
  window.found(0);
  CHECK(window.next() == 1);
}

TEST_CASE("without room fetching pauses until the window moves, and begins with the same shard") {
  mds::detail::fetch_window window(4, 2);
  CHECK(window.all_asked());
  for (const std::uint32_t shard : {0U, 1U, 2U}) window.want(shard);
  CHECK(window.next() == 0);
  CHECK(window.next() == 1);
  CHECK_FALSE(window.all_asked());
  window.no_room(0);
  CHECK(window.paused());
  CHECK_FALSE(window.next());
  window.fetched(1);
  CHECK_FALSE(window.next());
  window.moved();
  CHECK_FALSE(window.paused());
  CHECK(window.next() == 0);
  CHECK(window.next() == 2);
  CHECK(window.all_asked());
}

TEST_CASE("what found no room comes back to its place, whichever is refused first") {
  mds::detail::fetch_window window(6, 4);
  for (const std::uint32_t shard : {4U, 2U, 0U, 5U, 1U}) window.want(shard);
  for (const std::uint32_t shard : {4U, 2U, 0U, 5U}) CHECK(window.next() == shard);
  for (const std::uint32_t shard : {2U, 5U, 4U, 0U}) window.no_room(shard);
  window.moved();
  for (const std::uint32_t shard : {4U, 2U, 0U, 5U}) CHECK(window.next() == shard);
  window.fetched(2);
  CHECK(window.next() == 1);
}

TEST_CASE("random events never lose, repeat or leak a shard") {
  const unsigned seed = support::test_seed();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t shards = 1 + below(8);
    const std::size_t most = 1 + below(3);
    mds::detail::fetch_window window(shards, most);
    std::map<std::uint32_t, int> wanted;
    std::set<std::uint32_t> in_flight, due;  // due: wanted and neither fetched nor on its way
    for (int step = 0; step < 300; ++step) {
      const std::uint32_t shard = below(shards);
      switch (below(6)) {
        case 0:
          CHECK(window.want(shard) == (wanted[shard] == 0));
          if (wanted[shard]++ == 0 && !in_flight.contains(shard)) due.insert(shard);
          break;
        case 1:
          if (wanted[shard] == 0) break;
          CHECK(window.leave(shard) == (--wanted[shard] == 0));
          if (wanted[shard] == 0) due.erase(shard);
          break;
        case 2:
          if (const auto next = window.next()) {
            CHECK(due.erase(*next) == 1);
            CHECK(in_flight.insert(*next).second);
          }
          break;
        case 3:
          if (in_flight.empty()) break;
          window.fetched(*in_flight.begin());
          in_flight.erase(in_flight.begin());
          break;
        case 4:
          if (in_flight.empty()) break;
          window.no_room(*in_flight.begin());
          if (wanted[*in_flight.begin()] > 0) due.insert(*in_flight.begin());
          in_flight.erase(in_flight.begin());
          CHECK_FALSE(window.next());
          break;
        default: window.moved();
      }
      CHECK(window.in_flight() == in_flight.size());
      CHECK(in_flight.size() <= most);
    }
    window.moved();
    while (!in_flight.empty() || !due.empty()) {  // all that is due can be had
      if (const auto next = window.next()) {
        REQUIRE(due.erase(*next) == 1);
        in_flight.insert(*next);
      } else {
        REQUIRE_FALSE(in_flight.empty());
        window.fetched(*in_flight.begin());
        in_flight.erase(in_flight.begin());
      }
    }
  }
}

namespace fetch_window_test {

/// What a window of two shards is to do, told plainly.
struct model {
  int wanted[2] = {};
  bool in_flight[2] = {}, due[2] = {};
  bool paused = false;

  [[nodiscard]] std::size_t flights() const { return std::size_t{in_flight[0]} + in_flight[1]; }
  [[nodiscard]] bool would_fetch(std::size_t most) const {
    return !paused && flights() < most && (due[0] || due[1]);
  }
};

/// One event, where it may come in this state: false where not, and where the window did wrong.
bool apply(int event, mds::detail::fetch_window& window, model& expected, std::size_t most,
           bool& right) {
  const auto shard = static_cast<std::uint32_t>(event % 2);
  switch (event / 2) {
    case 0: {
      if (expected.wanted[shard] == 2) return false;
      const bool first = expected.wanted[shard]++ == 0;
      right = window.want(shard) == first;
      if (first && !expected.in_flight[shard]) expected.due[shard] = true;
      return true;
    }
    case 1: {
      if (expected.wanted[shard] == 0) return false;
      const bool last = --expected.wanted[shard] == 0;
      right = window.leave(shard) == last;
      if (last) expected.due[shard] = false;
      return true;
    }
    case 2:
      if (!expected.in_flight[shard]) return false;
      expected.in_flight[shard] = false;
      window.fetched(shard);
      return true;
    case 3:
      if (!expected.in_flight[shard]) return false;
      expected.in_flight[shard] = false;
      expected.due[shard] = expected.wanted[shard] > 0;
      expected.paused = true;
      window.no_room(shard);
      return true;
    case 4:
      expected.due[shard] = false;
      window.found(shard);
      return true;
    default:
      if (shard == 0) {
        expected.paused = false;
        window.moved();
        return true;
      }
      const bool would = expected.would_fetch(most);
      const auto next = window.next();
      right = next.has_value() == would && (!next || expected.due[*next]);
      if (next) {
        expected.due[*next] = false;
        expected.in_flight[*next] = true;
      }
      return true;
  }
}

/// Every sequence of so many events; how many states were seen, none where one went wrong.
std::size_t walk(const mds::detail::fetch_window& window, const model& expected, std::size_t most,
                 int depth) {
  if (depth == 0) return 1;
  std::size_t seen = 1;
  for (int event = 0; event < 12; ++event) {
    mds::detail::fetch_window after = window;
    model then = expected;
    bool right = true;
    if (!apply(event, after, then, most, right)) continue;
    right = right && after.in_flight() == then.flights() &&
            after.wanted(0) == (then.wanted[0] > 0) && after.wanted(1) == (then.wanted[1] > 0);
    const std::size_t further = right ? walk(after, then, most, depth - 1) : 0;
    if (further == 0) return 0;
    seen += further;
  }
  return seen;
}

}  // namespace fetch_window_test

TEST_CASE("every event in every state of a window of two shards") {
  for (const std::size_t most : {1U, 2U}) {
    const std::size_t seen =
        fetch_window_test::walk(mds::detail::fetch_window(2, most), {}, most, 6);
    CHECK(seen > 100'000);
  }
}
