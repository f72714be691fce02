#include <mdstream/stream/detail/epoch_states.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"

// The decisions about a loader's epochs: every event in every state, and every way through them.

namespace mds = mdstream;

namespace epoch_states_test {

using mds::detail::epoch_action, mds::detail::epoch_event, mds::detail::epoch_state;
using mds::detail::epoch_states, mds::detail::readiness;

constexpr std::array state_names{"none",     "resting", "stepping", "awaited",
                                 "stopping", "closing", "closed"};
constexpr std::array event_names{"begin", "want",  "go_on", "stepped", "failed",
                                 "take",  "leave", "gone",  "close"};
constexpr std::array action_names{"none",      "post",     "step",      "wait",  "wake",
                                  "hand_over", "announce", "leave_all", "finish"};

template <class Names, class Value>
std::string name(const Names& names, Value value) {
  return names[static_cast<std::size_t>(value)];
}

template <class Value>
Value at(std::size_t i) {
  return static_cast<Value>(i);
}

/// All states with any readiness that goes with them, and up to two epochs that were left.
std::vector<epoch_states> all_states() {
  std::vector<epoch_states> out;
  for (std::size_t state = 0; state < state_names.size(); ++state)
    for (std::size_t reached = 0; reached < 4; ++reached)
      for (std::size_t wanted = reached; wanted < 4; ++wanted)
        for (std::size_t leaving = 0; leaving < 3; ++leaving)
          out.push_back({.at = at<epoch_state>(state),
                         .reached = at<readiness>(reached),
                         .wanted = at<readiness>(wanted),
                         .leaving = leaving});
  return out;
}

/// The events in the order of `epoch_event`, each with what follows it in the order of
/// `epoch_state`: the new state, and what is to be done; "-" changes nothing. The epoch is read,
/// fetched is wanted, one epoch was left, and the wish is built.
constexpr std::array<std::array<std::string_view, 7>, 9> table{{
    // none, resting, stepping, awaited, stopping, closing, closed
    {"resting none", "-", "-", "-", "-", "-", "-"},
    {"-", "resting post", "stepping none", "-", "-", "-", "-"},
    {"-", "stepping step", "-", "-", "-", "-", "-"},
    {"-", "-", "resting none", "resting wake", "closing leave_all", "-", "-"},
    {"-", "-", "resting none", "resting wake", "closing leave_all", "-", "-"},
    {"-", "none hand_over", "awaited wait", "awaited wait", "-", "-", "-"},
    {"none none", "resting none", "stepping none", "awaited none", "stopping none", "closing none",
     "-"},
    {"none announce", "resting announce", "stepping announce", "awaited announce",
     "stopping announce", "closed finish", "-"},
    {"closing leave_all", "closing leave_all", "stopping none", "stopping none", "-", "-", "-"},
}};

/// A loader around the states: what it is about to do, which is what may happen next.
struct world {
  epoch_states states{};
  std::size_t posted = 0;  // threads that will send `go_on`
  bool steps = false;      // a thread is at a step
  bool waits = false;      // the consumer waits for it
  std::size_t left = 0;    // epochs that will send `gone`
  bool closed = false;     // the consumer has sent `close`
  bool finished = false;

  friend bool operator==(const world&, const world&) = default;
  [[nodiscard]] auto key() const {
    return std::tuple(states.at, states.reached, states.wanted, states.leaving, posted, steps,
                      waits, left, closed, finished);
  }
  friend auto operator<(const world& a, const world& b) { return a.key() < b.key(); }

  [[nodiscard]] std::vector<std::pair<epoch_event, readiness>> possible() const {
    std::vector<std::pair<epoch_event, readiness>> out;
    const auto may = [&](bool can, epoch_event what, readiness wish = readiness::none) {
      if (can) out.emplace_back(what, wish);
    };
    const bool consumer = !waits && !closed;
    may(consumer && states.at == epoch_state::none, epoch_event::begin);
    for (std::size_t wish = 1; wish < 4; ++wish)
      may(!finished, epoch_event::want, at<readiness>(wish));
    may(posted != 0, epoch_event::go_on);
    may(steps, epoch_event::stepped);
    may(steps, epoch_event::failed);
    may(consumer || (waits && !steps), epoch_event::take);
    may(consumer && left < 2, epoch_event::leave);
    may(left != 0, epoch_event::gone);
    may(consumer, epoch_event::close);
    return out;
  }

  void send(epoch_event what, readiness wish) {
    if (what == epoch_event::go_on) --posted;
    if (what == epoch_event::stepped || what == epoch_event::failed) steps = false;
    if (what == epoch_event::gone) --left;
    if (what == epoch_event::leave) ++left;
    if (what == epoch_event::close) closed = true;
    if (what == epoch_event::take) waits = false;
    const bool was_stepping = steps;
    switch (states.on(what, wish)) {
      case epoch_action::none: break;
      case epoch_action::post: posted = std::min<std::size_t>(posted + 1, 2); break;
      case epoch_action::step:
        REQUIRE_FALSE(was_stepping);  // one thread at a time
        steps = true;
        break;
      case epoch_action::wait: waits = true; break;
      case epoch_action::wake: REQUIRE(waits); break;
      case epoch_action::hand_over: REQUIRE_FALSE(steps); break;
      case epoch_action::announce: REQUIRE(left == 0); break;
      case epoch_action::leave_all:
        REQUIRE(closed);
        REQUIRE_FALSE(steps);
        ++left;  // as `close` itself
        break;
      case epoch_action::finish:
        REQUIRE(closed);
        REQUIRE_FALSE(steps);
        REQUIRE(left == 0);
        REQUIRE_FALSE(finished);
        finished = true;
        break;
    }
  }
};

}  // namespace epoch_states_test

TEST_CASE("every event in every state of a loader's epochs") {
  using namespace epoch_states_test;
  for (std::size_t event = 0; event < event_names.size(); ++event)
    for (std::size_t state = 0; state < state_names.size(); ++state) {
      const epoch_states before{.at = at<epoch_state>(state),
                                .reached = readiness::read,
                                .wanted = readiness::fetched,
                                .leaving = 1};
      epoch_states after = before;
      const epoch_action action = after.on(at<epoch_event>(event), readiness::built);
      std::string got = name(state_names, after.at) + " " + name(action_names, action);
      if (after == before && action == epoch_action::none) got = "-";
      INFO(event_names[event] << " in " << state_names[state]);
      CHECK(got == table[event][state]);
    }
}

TEST_CASE("what holds for every event, however far the epoch is prepared") {
  using namespace epoch_states_test;
  for (const epoch_states& before : all_states())
    for (std::size_t i = 0; i < event_names.size(); ++i)
      for (std::size_t wish = 0; wish < 4; ++wish) {
        const auto event = at<epoch_event>(i);
        epoch_states after = before;
        const epoch_action action = after.on(event, at<readiness>(wish));
        INFO(event_names[i] << " in " << name(state_names, before.at) << ", "
                            << static_cast<int>(before.reached) << " of "
                            << static_cast<int>(before.wanted) << ", " << before.leaving
                            << " left, wish " << wish);
        CHECK(after.reached <= after.wanted);
        if (action == epoch_action::step) CHECK(after.reached < after.wanted);
        if (action == epoch_action::post) CHECK(after.wanted == at<readiness>(wish));
        if (action == epoch_action::hand_over)
          CHECK(after == epoch_states{.leaving = before.leaving});
        if (event == epoch_event::stepped && after.reached != before.reached)
          CHECK(after.reached == before.next_step());
        // Whatever takes a step ends it, and nothing else does.
        const auto steps = [](epoch_state state) {
          return state == epoch_state::stepping || state == epoch_state::awaited ||
                 state == epoch_state::stopping;
        };
        const bool ends = event == epoch_event::stepped || event == epoch_event::failed;
        if (steps(before.at) && !ends) CHECK(steps(after.at));
        if (!steps(before.at) && steps(after.at)) CHECK(action == epoch_action::step);
        const bool closes = before.at != after.at && after.at == epoch_state::closing;
        const bool open = before.at != epoch_state::closed;
        CHECK(after.leaving + (open && event == epoch_event::gone && before.leaving != 0) ==
              before.leaving + (open && event == epoch_event::leave) + closes);
        CHECK((action == epoch_action::leave_all) == closes);
        CHECK((action == epoch_action::finish) == (open && after.at == epoch_state::closed));
      }
}

TEST_CASE("whatever the order of events, one thread steps, and a loader that closes has an end") {
  using namespace epoch_states_test;
  std::set<world> known{world{}};
  std::vector<world> open{world{}};
  std::set<epoch_state> seen;
  while (!open.empty()) {
    const world from = open.back();
    open.pop_back();
    seen.insert(from.states.at);
    bool goes_on = false;
    for (const auto& [what, wish] : from.possible()) {
      world to = from;
      to.send(what, wish);
      goes_on = goes_on || to != from;
      if (known.insert(to).second) open.push_back(to);
    }
    // Where nothing can happen any more, the end was told.
    if (!goes_on) CHECK((from.finished && from.states.at == epoch_state::closed));
  }
  CHECK(seen.size() == state_names.size());
  INFO(known.size() << " situations");
  CHECK(known.size() > 100);
}
