#include <mdstream/cache/shard_requests.hpp>

#include <stop_token>
#include <system_error>
#include <vector>

#include "support/catch.hpp"

namespace shard_requests_test {

namespace mds = mdstream;
using mds::errc;
using mds::urgency;

struct asked {
  std::vector<std::error_code> answers;
  mds::diagnostics where;
  auto handler() {
    return [this](std::error_code code, mds::shard_ref) { answers.push_back(code); };
  }
};

TEST_CASE("requests for a shard join, and all are answered once", "[cache]") {
  mds::shard_requests requests;
  asked one, two, other;
  const auto entry = requests.add(3, urgency::ahead, {}, one.where, one.handler());
  REQUIRE(entry);
  CHECK_FALSE(requests.wanted_now(*entry));
  CHECK_FALSE(requests.add(3, urgency::now, {}, two.where, two.handler()));
  CHECK(requests.wanted_now(*entry));
  CHECK(requests.add(4, urgency::now, {}, other.where, other.handler()));
  requests.finish(3, entry, errc::corrupt, {.what = "bad"}, {});
  CHECK(one.answers == std::vector<std::error_code>{errc::corrupt});
  CHECK(two.answers == one.answers);
  CHECK(two.where.what == "bad");
  CHECK(other.answers.empty());
  CHECK(requests.add(3, urgency::now, {}, one.where, one.handler()));  // begins anew
}

TEST_CASE("those who asked ahead are dismissed without the others", "[cache]") {
  mds::shard_requests requests;
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
  mds::shard_requests requests;
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
  mds::shard_requests requests;
  std::stop_source stop;
  stop.request_stop();
  asked one;
  const auto entry = requests.add(1, urgency::now, stop.get_token(), one.where, one.handler());
  CHECK(one.answers == std::vector<std::error_code>{errc::canceled});
  CHECK(entry->stop.stop_requested());
}

}  // namespace shard_requests_test
