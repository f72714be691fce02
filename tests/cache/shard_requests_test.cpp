#include <mdstream/cache/detail/shard_requests.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <vector>

#include "support/catch.hpp"

namespace shard_requests_test {

namespace mds = mdstream;
using mds::errc;
using mds::detail::urgency;

struct asked {
  std::vector<std::error_code> answers;
  mds::diagnostics where;
  auto handler() {
    return [this](std::error_code code, mds::detail::shard_ref) { answers.push_back(code); };
  }
};

TEST_CASE("requests for a shard join, and all are answered once", "[cache]") {
  mds::detail::shard_requests requests;
  asked one, two, other;
  const auto entry = requests.add(3, urgency::ahead, {}, one.where, one.handler());
  REQUIRE(entry);
  CHECK_FALSE(requests.wanted_now(*entry));
  CHECK_FALSE(requests.add(3, urgency::now, {}, two.where, two.handler()));
  CHECK(requests.wanted_now(*entry));
  const auto later = requests.add(4, urgency::now, {}, other.where, other.handler());
  REQUIRE(later);
  CHECK(later->place->ticket > entry->place->ticket);  // who asked first is served first
  requests.finish(3, entry, errc::corrupt, {.what = "bad"}, {});
  CHECK(one.answers == std::vector<std::error_code>{errc::corrupt});
  CHECK(two.answers == one.answers);
  CHECK(two.where.what == "bad");
  CHECK(other.answers.empty());
  CHECK(requests.add(3, urgency::now, {}, one.where, one.handler()));  // begins anew
}

TEST_CASE("those who asked ahead are dismissed without the others", "[cache]") {
  mds::detail::shard_requests requests;
  asked ahead, now;
  const auto entry = requests.add(1, urgency::ahead, {}, ahead.where, ahead.handler());
  (void)requests.add(1, urgency::now, {}, now.where, now.handler());
  CHECK_FALSE(requests.dismiss_ahead(1, entry, errc::cache_too_small, {}));
  CHECK(ahead.answers.size() == 1);
  CHECK(now.answers.empty());
  requests.finish(1, entry, {}, {}, {});
  CHECK(now.answers == std::vector<std::error_code>{{}});
  const auto second = requests.add(1, urgency::ahead, {}, ahead.where, ahead.handler());
  CHECK(requests.dismiss_ahead(1, second, errc::cache_too_small, {}));
  CHECK(requests.add(1, urgency::now, {}, now.where, now.handler()));
}

TEST_CASE("the last one who cancels stops the way", "[cache]") {
  mds::detail::shard_requests requests;
  asked one, two, three;
  std::stop_source stop_one, stop_two;
  const auto entry = requests.add(1, urgency::now, stop_one.get_token(), one.where, one.handler());
  (void)requests.add(1, urgency::now, stop_two.get_token(), two.where, two.handler());
  stop_one.request_stop();
  CHECK(one.answers == std::vector<std::error_code>{errc::canceled});
  CHECK_FALSE(entry->stop.stop_requested());
  stop_two.request_stop();
  CHECK(entry->stop.stop_requested());
  const auto anew = requests.add(1, urgency::now, {}, three.where, three.handler());
  REQUIRE(anew);
  requests.finish(1, entry, errc::canceled, {}, {});  // the old way ends late
  CHECK(three.answers.empty());
  requests.stop_all();
  CHECK(anew->stop.stop_requested());
  requests.finish(1, anew, errc::canceled, {}, {});
  CHECK(three.answers.size() == 1);
  CHECK(one.answers.size() == 1);
}

TEST_CASE("a request that was stopped before is cancelled at once", "[cache]") {
  mds::detail::shard_requests requests;
  std::stop_source stop;
  stop.request_stop();
  asked one;
  const auto entry = requests.add(1, urgency::now, stop.get_token(), one.where, one.handler());
  CHECK(one.answers == std::vector<std::error_code>{errc::canceled});
  CHECK(entry->stop.stop_requested());
}

/// Requests for one shard beside a plain account of who waits for which way.
class account {
 public:
  enum event : std::uint8_t {
    ask_now,
    ask_ahead,
    cancel_oldest,
    cancel_newest,
    finish_oldest,
    fail_newest,
    dismiss_newest,
    stop_all,
    count
  };

  void happens(event what) {
    switch (what) {
      case ask_now: return ask(urgency::now);
      case ask_ahead: return ask(urgency::ahead);
      case cancel_oldest: return cancel(0);
      case cancel_newest: return cancel(waiting().empty() ? 0 : waiting().size() - 1);
      case finish_oldest: return finish(0, {});
      case fail_newest: return finish(live().empty() ? 0 : live().size() - 1, errc::corrupt);
      case dismiss_newest: return dismiss();
      default: break;
    }
    requests_.stop_all();
    for (way& each : ways_)
      if (!each.ended && !each.left) each.stopped = true;
  }

  void check() const {
    for (const request& each : asked_)
      REQUIRE(each.who.answers ==
              (each.answer ? std::vector{*each.answer} : std::vector<std::error_code>()));
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      REQUIRE(ways_[i].entry->stop.stop_requested() == ways_[i].stopped);
      REQUIRE(requests_.wanted_now(*ways_[i].entry) ==
              std::ranges::any_of(asked_, [i](const request& each) {
                return each.way == i && !each.answer && each.why == urgency::now;
              }));
    }
  }

 private:
  struct request {
    asked who{};
    std::stop_source stop{};
    urgency why{};
    std::size_t way = 0;
    std::optional<std::error_code> answer{};
  };
  struct way {
    std::shared_ptr<mds::detail::shard_requests::entry> entry;
    bool stopped = false;  // its stop was requested
    bool left = false;     // by all who waited: who asks next begins anew
    bool ended = false;
  };

  [[nodiscard]] std::vector<request*> waiting() {
    std::vector<request*> out;
    for (request& each : asked_)
      if (!each.answer) out.push_back(&each);
    return out;
  }
  [[nodiscard]] std::vector<std::size_t> live() const {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < ways_.size(); ++i)
      if (!ways_[i].ended) out.push_back(i);
    return out;
  }
  [[nodiscard]] bool is_waited_for(std::size_t number) const {
    return std::ranges::any_of(
        asked_, [number](const request& each) { return each.way == number && !each.answer; });
  }

  void ask(urgency why) {
    request& it = asked_.emplace_back();
    it.why = why;
    auto begun = requests_.add(1, why, it.stop.get_token(), it.who.where, it.who.handler());
    const bool anew = ways_.empty() || ways_.back().ended || ways_.back().left;
    REQUIRE((begun != nullptr) == anew);
    if (begun) ways_.push_back({.entry = std::move(begun)});
    it.way = ways_.size() - 1;
  }
  void cancel(std::size_t which) {
    const auto all = waiting();
    if (all.empty()) return;
    request& it = *all[which];
    it.answer = errc::canceled;
    it.stop.request_stop();
    way& of = ways_[it.way];
    if (!is_waited_for(it.way)) of.stopped = of.left = true;
  }
  void finish(std::size_t which, std::error_code code) {
    const auto all = live();
    if (all.empty()) return;
    way& it = ways_[all[which]];
    it.ended = true;
    for (request& each : asked_)
      if (each.way == all[which] && !each.answer) each.answer = code;
    requests_.finish(1, it.entry, code, {}, {});
  }
  void dismiss() {
    const auto all = live();
    if (all.empty()) return;
    way& it = ways_[all.back()];
    for (request& each : asked_)
      if (each.way == all.back() && !each.answer && each.why == urgency::ahead)
        each.answer = errc::cache_too_small;
    it.ended = !is_waited_for(all.back());
    REQUIRE(requests_.dismiss_ahead(1, it.entry, errc::cache_too_small, {}) == it.ended);
  }

  mds::detail::shard_requests requests_;
  std::deque<request> asked_;  // stays where it is: handlers write there
  std::deque<way> ways_;
};

TEST_CASE("every event in every state of the requests for a shard", "[cache]") {
  constexpr std::size_t length = 5;
  std::array<std::uint8_t, length> events{};
  for (std::size_t number = 0;; ++number) {
    account book;
    for (const std::uint8_t each : events) {
      INFO("sequence " << number << ", event " << int{each});
      book.happens(static_cast<account::event>(each));
      book.check();
    }
    std::size_t at = 0;
    while (at < length && ++events[at] == account::count) events[at++] = 0;
    if (at == length) break;
  }
}

}  // namespace shard_requests_test
