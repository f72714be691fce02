#include <mdstream/schedule/fetch_window.hpp>

#include <map>
#include <random>
#include <set>

#include "support/catch.hpp"

namespace mds = mdstream;

TEST_CASE("shards are fetched in the order of the batches, each once, a few at a time") {
  mds::fetch_window window(10, 2);
  for (const std::uint32_t shard : {3U, 1U, 3U, 7U}) window.want(shard);
  CHECK(window.next() == 3);
  CHECK(window.next() == 1);
  CHECK_FALSE(window.next());
  window.fetched(3);
  CHECK(window.next() == 7);
  CHECK(window.in_flight() == 2);
}

TEST_CASE("the last batch that wanted a shard is told apart, and what it left is not fetched") {
  mds::fetch_window window(4, 4);
  CHECK(window.want(2));
  CHECK_FALSE(window.want(2));
  CHECK_FALSE(window.leave(2));
  CHECK(window.wanted(2));
  CHECK(window.leave(2));
  CHECK_FALSE(window.wanted(2));
  CHECK_FALSE(window.next());
}

TEST_CASE("a shard that is wanted again while on its way is not fetched twice") {
  mds::fetch_window window(4, 4);
  window.want(0);
  CHECK(window.next() == 0);
  CHECK(window.leave(0));
  CHECK(window.want(0));
  CHECK_FALSE(window.next());
  window.fetched(0);
  CHECK_FALSE(window.next());
}

TEST_CASE("what is here already is not fetched") {
  mds::fetch_window window(4, 4);
  window.want(0);
  window.want(1);
  window.found(0);
  CHECK(window.next() == 1);
}

TEST_CASE("without room fetching pauses until the window moves, and begins with the same shard") {
  mds::fetch_window window(4, 2);
  for (const std::uint32_t shard : {0U, 1U, 2U}) window.want(shard);
  CHECK(window.next() == 0);
  CHECK(window.next() == 1);
  window.no_room(0);
  CHECK_FALSE(window.next());
  window.fetched(1);
  CHECK_FALSE(window.next());
  window.moved();
  CHECK(window.next() == 0);
  CHECK(window.next() == 2);
}

TEST_CASE("random events never lose, repeat or leak a shard") {
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t shards = 1 + below(8);
    const std::size_t most = 1 + below(3);
    mds::fetch_window window(shards, most);
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
