#include <mdstream/schedule/prefetch_window.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace prefetch_window_test {

namespace mds = mdstream;

/// The same machine said as plainly as possible: everything is looked up in full each time.
struct plain_window {
  struct item {
    std::uint32_t shard;
    std::uint64_t place;
    std::uint64_t bytes;
  };
  mds::prefetch_limits limits;
  std::vector<item> needs{};
  std::map<std::uint32_t, int> state{};  // in the window: 0 wanted, 1 requested, 2 settled
  std::multiset<std::uint32_t> leaving{};
  bool blocked = false;

  [[nodiscard]] std::size_t in_flight() const {
    std::size_t count = leaving.size();
    for (const auto& [shard, value] : state) count += value == 1 ? 1 : 0;
    return count;
  }
  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t shard) const {
    for (const item& each : needs) {
      if (each.shard == shard) return each.bytes;
    }
    return 0;
  }
  [[nodiscard]] std::uint64_t ahead() const {
    std::uint64_t sum = 0;
    for (const auto& [shard, value] : state) sum += value != 0 ? bytes_of(shard) : 0;
    return sum;
  }
  void need(std::uint32_t shard, std::uint64_t place, std::uint64_t bytes) {
    needs.push_back({shard, place, bytes});
    state.try_emplace(shard, 0);
  }
  std::vector<std::uint32_t> advance(std::uint64_t place) {
    std::vector<std::uint32_t> left;
    while (!needs.empty() && needs.front().place < place) {
      const std::uint32_t shard = needs.front().shard;
      needs.erase(needs.begin());
      const bool again = std::any_of(needs.begin(), needs.end(),
                                     [shard](const item& n) { return n.shard == shard; });
      if (again) continue;
      if (state.at(shard) == 1) leaving.insert(shard);
      state.erase(shard);
      left.push_back(shard);
    }
    if (!left.empty()) blocked = false;
    return left;
  }
  std::optional<std::uint32_t> next() {
    for (std::size_t i = 0; i < needs.size(); ++i) {
      const item& each = needs[i];
      if (state.at(each.shard) != 0) continue;
      if (in_flight() >= limits.in_flight || leaving.count(each.shard) > 0) return std::nullopt;
      if (i > 0 && (blocked || ahead() + each.bytes > limits.bytes_ahead)) return std::nullopt;
      state[each.shard] = 1;
      return each.shard;
    }
    return std::nullopt;
  }
  bool end(std::uint32_t shard) {
    if (const auto at = leaving.find(shard); at != leaving.end()) {
      leaving.erase(at);
      return false;
    }
    return state.count(shard) > 0 && state.at(shard) == 1;
  }
  void settled(std::uint32_t shard) {
    blocked = false;
    if (end(shard)) state[shard] = 2;
  }
  void refused(std::uint32_t shard) {
    if (!end(shard)) return;
    state[shard] = 0;
    blocked = true;
  }
  void lost(std::uint32_t shard) {
    if (state.count(shard) > 0 && state.at(shard) == 2) state[shard] = 0;
  }
  [[nodiscard]] std::string text() const {
    std::string out = std::to_string(needs.size()) + (blocked ? "!" : ".");
    for (const auto& [shard, value] : state) {
      out += std::to_string(shard) + ":" + std::to_string(value) + " ";
    }
    for (const std::uint32_t shard : leaving) out.append("-").append(std::to_string(shard));
    return out;
  }
};

struct both_windows {
  mds::prefetch_window real;
  plain_window plain;
  std::vector<std::uint32_t> under_way{};
  std::size_t added = 0;
  std::uint64_t place = 0;
};

const std::vector<std::uint32_t> order{0, 1, 0, 2, 1, 0};

/// Event number `event` in the state, if it can happen there. False when it can not.
bool apply(both_windows& w, unsigned event) {
  const auto ended = [&](std::uint32_t shard) {
    const auto at = std::find(w.under_way.begin(), w.under_way.end(), shard);
    if (at == w.under_way.end()) return false;
    w.under_way.erase(at);
    return true;
  };
  if (event == 0) {
    if (w.added == order.size()) return false;
    const std::uint32_t shard = order[w.added];
    w.real.need(shard, w.added, 1 + shard);
    w.plain.need(shard, w.added, 1 + shard);
    ++w.added;
    return true;
  }
  if (event == 1) {
    if (w.place == w.added) return false;
    ++w.place;
    const auto left = w.real.advance(w.place);
    REQUIRE(left == w.plain.advance(w.place));
    return true;
  }
  if (event == 2) {
    const auto asked = w.real.next();
    REQUIRE(asked == w.plain.next());
    if (!asked) return false;
    REQUIRE(std::count(w.under_way.begin(), w.under_way.end(), *asked) == 0);
    w.under_way.push_back(*asked);
    return true;
  }
  const std::uint32_t shard = (event - 3) % 3;
  const unsigned kind = (event - 3) / 3;
  if (kind < 2 && !ended(shard)) return false;
  if (kind == 0) {
    w.real.settled(shard);
    w.plain.settled(shard);
  } else if (kind == 1) {
    w.real.refused(shard);
    w.plain.refused(shard);
  } else {
    w.real.lost(shard);
    w.plain.lost(shard);
  }
  return true;
}

void check(const both_windows& w) {
  REQUIRE(w.real.in_flight() == w.plain.in_flight());
  REQUIRE(w.real.in_flight() == w.under_way.size());
  REQUIRE(w.real.bytes_ahead() == w.plain.ahead());
  REQUIRE(w.real.in_flight() <= std::max<std::size_t>(w.plain.limits.in_flight, 1));
  REQUIRE(w.real.empty() == w.plain.needs.empty());
}

TEST_CASE("every event in every state does what the plain machine does", "[schedule]") {
  const mds::prefetch_limits limits =
      GENERATE(mds::prefetch_limits{.in_flight = 1}, mds::prefetch_limits{.in_flight = 2},
               mds::prefetch_limits{.in_flight = 3, .bytes_ahead = 3},
               mds::prefetch_limits{.in_flight = 2, .bytes_ahead = 0});
  std::set<std::string> seen;
  std::vector<both_windows> todo{{mds::prefetch_window(limits), {limits}}};
  std::size_t applied = 0;
  while (!todo.empty()) {
    const both_windows from = std::move(todo.back());
    todo.pop_back();
    for (unsigned event = 0; event < 12; ++event) {
      both_windows to = from;
      if (!apply(to, event)) continue;
      ++applied;
      check(to);
      const std::string key = to.plain.text() + '/' + std::to_string(to.added);
      if (seen.insert(key).second) todo.push_back(std::move(to));
    }
  }
  INFO(seen.size() << " states");
  CHECK(seen.size() > 100);
  CHECK(applied > seen.size());
}

TEST_CASE("long random runs agree with the plain machine", "[schedule]") {
  const unsigned seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const mds::prefetch_limits limits{.in_flight = 3, .bytes_ahead = 12};
  mds::prefetch_window real(limits);
  plain_window plain{limits};
  std::vector<std::uint32_t> under_way;
  std::uint64_t last = 0, passed = 0;
  for (int step = 0; step < 20'000; ++step) {
    switch (random() % 6) {
      case 0: {
        const std::uint32_t shard = random() % 8;
        last += random() % 2;
        real.need(shard, last, 1 + shard % 5);
        plain.need(shard, last, 1 + shard % 5);
        break;
      }
      case 1:
        passed = std::min(passed + random() % 2, last + 1);
        REQUIRE(real.advance(passed) == plain.advance(passed));
        break;
      case 2:
      case 3: {
        const auto asked = real.next();
        REQUIRE(asked == plain.next());
        if (asked) under_way.push_back(*asked);
        break;
      }
      case 4:
        if (!under_way.empty()) {
          const std::size_t which = random() % under_way.size();
          const std::uint32_t shard = under_way[which];
          under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(which));
          const bool refuse = random() % 4 == 0;
          refuse ? real.refused(shard) : real.settled(shard);
          refuse ? plain.refused(shard) : plain.settled(shard);
        }
        break;
      default: {
        const std::uint32_t shard = random() % 8;
        real.lost(shard);
        plain.lost(shard);
      }
    }
    REQUIRE(real.in_flight() == under_way.size());
    REQUIRE(real.bytes_ahead() == plain.ahead());
  }
}

TEST_CASE("a reader that keeps asking gets everything, whatever is refused", "[schedule]") {
  mds::prefetch_window window({.in_flight = 2, .bytes_ahead = 0});
  for (std::uint64_t i = 0; i < 10; ++i) window.need(static_cast<std::uint32_t>(i), i, 100);
  for (std::uint32_t i = 0; i < 10; ++i) {
    const auto first = window.next();
    REQUIRE(first == i);
    CHECK_FALSE(window.next());  // no bytes may be ahead of the shard that is waited for
    window.refused(i);
    REQUIRE(window.next() == i);
    window.settled(i);
    CHECK(window.advance(i + 1) == std::vector<std::uint32_t>{i});
  }
  CHECK(window.empty());
}

}  // namespace prefetch_window_test
