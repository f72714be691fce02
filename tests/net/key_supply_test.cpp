#include <mdstream/net/key_supply.hpp>

#include <mdstream/net/credential_chain.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/keys.hpp"
#include "support/catch.hpp"

namespace key_supply_test {

using namespace mdstream::net;
using keys::ask;
using mdstream::diagnostics;
using mdstream::errc;

/// A provider that answers when it is told to, and counts how often it was asked.
class scripted {
 public:
  void async_find(std::stop_token, diagnostics& where, aws_credentials_handler done) const {
    const std::lock_guard lock(shared_->mutex);
    ++shared_->asked;
    shared_->where = &where;
    shared_->done = std::move(done);
  }
  [[nodiscard]] int asked() const { return shared_->asked; }
  void answer(std::error_code code, std::optional<aws_credentials> found) const {
    aws_credentials_handler done;
    {
      const std::lock_guard lock(shared_->mutex);
      done = std::move(shared_->done);
      if (code) shared_->where->what = "the script says no";
    }
    done(code, std::move(found));
  }
  /// As a runtime that ends does.
  void drop() const {
    aws_credentials_handler dropped;
    const std::lock_guard lock(shared_->mutex);
    dropped = std::move(shared_->done);
  }

 private:
  struct state {
    std::mutex mutex;
    int asked = 0;
    diagnostics* where = nullptr;
    aws_credentials_handler done;
  };
  std::shared_ptr<state> shared_ = std::make_shared<state>();
};

/// Who asked, and what they were told.
struct listener {
  diagnostics where;
  std::error_code code = errc::end_of_epoch;  // not yet told
  std::optional<aws_credentials> keys;

  aws_credentials_handler handler() {
    return [this](std::error_code c, std::optional<aws_credentials> k) {
      code = c;
      keys = std::move(k);
    };
  }
};

const wall_clock::time_point noon = wall_clock::now();

aws_credentials temporary(const std::string& id, std::chrono::minutes life) {
  return {
      .access_key_id = id, .secret_access_key = "s", .expires = noon + life, .source = "script"};
}

/// A provider that breaks the rule once.
struct throwing_once {
  void async_find(std::stop_token, diagnostics&, aws_credentials_handler done) const {
    if (!std::exchange(*thrown, true)) throw std::runtime_error("hush");
    done({}, temporary("A", std::chrono::hours(1)));
  }
  std::shared_ptr<bool> thrown = std::make_shared<bool>(false);
};

TEST_CASE("a provider that throws leaves nobody waiting", "[net]") {
  const cached_aws_credentials cached{throwing_once()};
  listener first, second;
  cached.async_find({}, first.where, first.handler());
  CHECK(first.code == errc::io_error);
  CHECK(first.where.what.find("hush") == std::string::npos);
  cached.async_find({}, second.where, second.handler());
  CHECK_FALSE(second.code);
  CHECK(second.keys->access_key_id == "A");
}

/// Runs no provider, so that what stands behind it is not asked.
struct nobody {
  void async_find(std::stop_token, diagnostics&, aws_credentials_handler done) const {
    done({}, std::nullopt);
  }
};

TEST_CASE("a chain takes the first that has keys, or the first that fails", "[net][aws]") {
  const explicit_aws_credentials one({.access_key_id = "one"}), two({.access_key_id = "two"});
  CHECK(ask(aws_credential_chain({nobody(), one, two})).keys->access_key_id == "one");
  CHECK(ask(aws_credential_chain({two, one})).keys->access_key_id == "two");
  CHECK_FALSE(ask(aws_credential_chain({nobody(), nobody()})).keys);
  CHECK_FALSE(ask(aws_credential_chain({})).keys);
  const auto half = keys::variables({{"AWS_ACCESS_KEY_ID", "x"}});
  const auto said = ask(aws_credential_chain({environment_aws_credentials(half), one}));
  CHECK(said.code == errc::permission_denied);
  CHECK(said.text().find("AWS_SECRET_ACCESS_KEY") != std::string::npos);
}

TEST_CASE("many who wait cost one question", "[net][aws]") {
  const scripted script;
  const cached_aws_credentials cache(script);
  std::vector<listener> all(20);
  for (listener& each : all) cache.async_find({}, each.where, each.handler());
  CHECK(script.asked() == 1);
  script.answer({}, temporary("a", std::chrono::minutes(60)));
  for (const listener& each : all) CHECK(each.keys->access_key_id == "a");
  CHECK(ask(cache).keys->access_key_id == "a");
  CHECK(script.asked() == 1);
}

TEST_CASE("keys are asked for again before they expire", "[net][aws]") {
  const scripted script;
  auto now = std::make_shared<wall_clock::time_point>(noon);
  const cached_aws_credentials cache(script, std::chrono::minutes(5), [now] { return *now; });
  listener first, third;
  cache.async_find({}, first.where, first.handler());
  script.answer({}, temporary("a", std::chrono::minutes(60)));
  *now = noon + std::chrono::minutes(54);
  CHECK(ask(cache).keys->access_key_id == "a");
  *now = noon + std::chrono::minutes(55);
  CHECK(ask(cache).keys->access_key_id == "a");  // good for five minutes more: nobody waits
  CHECK(script.asked() == 2);
  CHECK(ask(cache).keys->access_key_id == "a");
  CHECK(script.asked() == 2);  // while it is asked
  script.answer(errc::unavailable, std::nullopt);
  CHECK(ask(cache).keys->access_key_id == "a");  // a provider that fails has half a minute's rest
  CHECK(script.asked() == 2);
  *now = noon + std::chrono::minutes(60);
  cache.async_find({}, third.where, third.handler());
  CHECK(script.asked() == 3);
  script.answer(errc::unavailable, std::nullopt);
  CHECK(third.code == errc::unavailable);
  CHECK(third.where.what == "the script says no");
  cache.async_find({}, third.where, third.handler());
  script.answer({}, temporary("b", std::chrono::minutes(120)));
  CHECK(third.keys->access_key_id == "b");
}

TEST_CASE("who comes when the old keys have expired waits for the question that is under way",
          "[net][aws]") {
  const scripted script;
  auto now = std::make_shared<wall_clock::time_point>(noon);
  const cached_aws_credentials cache(script, std::chrono::minutes(5), [now] { return *now; });
  listener first, late;
  cache.async_find({}, first.where, first.handler());
  script.answer({}, temporary("a", std::chrono::minutes(60)));
  *now = noon + std::chrono::minutes(56);
  CHECK(ask(cache).keys->access_key_id == "a");
  *now = noon + std::chrono::minutes(60);
  cache.async_find({}, late.where, late.handler());
  CHECK(late.code == errc::end_of_epoch);
  CHECK(script.asked() == 2);
  script.answer({}, temporary("b", std::chrono::minutes(120)));
  CHECK(late.keys->access_key_id == "b");
}

TEST_CASE("nobody's keys are anonymous, and somebody is asked for again", "[net][aws]") {
  const scripted script;
  auto now = std::make_shared<wall_clock::time_point>(noon);
  const cached_aws_credentials cache(script, std::chrono::minutes(5), [now] { return *now; });
  listener one;
  cache.async_find({}, one.where, one.handler());
  script.answer({}, std::nullopt);
  REQUIRE(one.keys);
  CHECK(one.keys->anonymous());
  CHECK(one.keys->source == "nobody (anonymous)");
  *now = noon + std::chrono::seconds(29);
  CHECK(ask(cache).keys->anonymous());
  CHECK(script.asked() == 1);
  *now = noon + std::chrono::seconds(30);
  CHECK(ask(cache).keys->anonymous());  // at once
  CHECK(script.asked() == 2);
  script.answer(errc::unavailable, std::nullopt);
  CHECK(ask(cache).keys->anonymous());
  CHECK(script.asked() == 2);
  *now = noon + std::chrono::seconds(60);
  CHECK(ask(cache).keys->anonymous());
  script.answer({}, aws_credentials{.access_key_id = "a"});
  CHECK(ask(cache).keys->access_key_id == "a");
  *now = noon + std::chrono::hours(10);
  CHECK(ask(cache).keys->access_key_id == "a");
  CHECK(script.asked() == 3);
}

TEST_CASE("who was refused without keys has the provider asked once more", "[net][aws]") {
  const scripted script;
  const cached_aws_credentials cache(script);
  listener one, other;
  cache.async_find({}, one.where, one.handler());
  script.answer({}, std::nullopt);
  const aws_credentials nobody = *one.keys;
  cache.refuse(nobody);
  cache.async_find({}, one.where, one.handler());
  cache.refuse(nobody);
  cache.async_find({}, other.where, other.handler());
  CHECK(script.asked() == 2);
  script.answer({}, std::nullopt);
  CHECK(one.keys->anonymous());
  CHECK(other.keys->anonymous());
  cache.refuse(nobody);
  CHECK(ask(cache).keys->anonymous());
  CHECK(script.asked() == 2);
}

TEST_CASE("a provider that had keys and has none is out of reach", "[net][aws]") {
  const scripted script;
  auto now = std::make_shared<wall_clock::time_point>(noon);
  const cached_aws_credentials cache(script, std::chrono::minutes(5), [now] { return *now; });
  listener first, expired, again;
  cache.async_find({}, first.where, first.handler());
  script.answer({}, temporary("a", std::chrono::minutes(60)));
  *now = noon + std::chrono::minutes(55);
  CHECK(ask(cache).keys->access_key_id == "a");
  script.answer({}, std::nullopt);
  CHECK(ask(cache).keys->access_key_id == "a");
  *now = noon + std::chrono::minutes(60);
  cache.async_find({}, expired.where, expired.handler());
  script.answer({}, std::nullopt);
  CHECK(expired.code == errc::unavailable);
  CHECK(expired.where.what.find("script") != std::string::npos);  // whose keys they were
  cache.async_find({}, again.where, again.handler());
  script.answer({}, temporary("b", std::chrono::minutes(120)));
  CHECK(again.keys->access_key_id == "b");
}

TEST_CASE("keys that are near their end when they are given are asked for twice a minute",
          "[net][aws]") {
  const scripted script;
  auto now = std::make_shared<wall_clock::time_point>(noon);
  const cached_aws_credentials cache(script, std::chrono::minutes(5), [now] { return *now; });
  listener one;
  const auto asks = [&](std::chrono::seconds at) {
    *now = noon + at;
    const int before = script.asked();
    one = {};
    cache.async_find({}, one.where, one.handler());
    return script.asked() > before;
  };
  using std::chrono::seconds;
  CHECK(asks(seconds(0)));
  script.answer({}, temporary("a", std::chrono::minutes(1)));
  for (const int at : {0, 1, 29}) {
    CHECK_FALSE(asks(seconds(at)));
    CHECK(one.keys->access_key_id == "a");
  }
  CHECK(asks(seconds(30)));
  script.answer({}, temporary("a", std::chrono::minutes(1)));
  CHECK_FALSE(asks(seconds(59)));
  CHECK(asks(seconds(60)));  // expired: no rest
  script.answer({}, temporary("b", std::chrono::minutes(2)));
  CHECK_FALSE(asks(seconds(61)));
  cache.refuse(*one.keys);
  CHECK(asks(seconds(61)));  // refused: no rest
  script.answer({}, temporary("c", std::chrono::hours(1)));
  CHECK(one.keys->access_key_id == "c");
  CHECK_FALSE(asks(seconds(3000)));
}

TEST_CASE("refused keys are not given again", "[net][aws]") {
  const scripted script;
  const cached_aws_credentials cache(script);
  listener one;
  cache.async_find({}, one.where, one.handler());
  script.answer({}, aws_credentials{.access_key_id = "a"});
  cache.refuse(aws_credentials{.access_key_id = "other"});
  CHECK(ask(cache).keys->access_key_id == "a");
  cache.refuse(*one.keys);
  cache.async_find({}, one.where, one.handler());
  CHECK(script.asked() == 2);
  script.answer({}, std::nullopt);
  CHECK(one.code == errc::unavailable);
  CHECK_FALSE(one.keys);

  std::stop_source stop;
  stop.request_stop();
  cache.async_find(stop.get_token(), one.where, one.handler());
  CHECK(one.code == errc::canceled);
}

TEST_CASE("a stop ends the waiting of one, not the question", "[net][aws]") {
  const scripted script;
  const cached_aws_credentials cache(script);
  std::stop_source stop;
  listener stopped, other;
  cache.async_find(stop.get_token(), stopped.where, stopped.handler());
  cache.async_find({}, other.where, other.handler());
  stop.request_stop();
  CHECK(stopped.code == errc::canceled);
  CHECK(other.code == errc::end_of_epoch);
  script.answer({}, aws_credentials{.access_key_id = "a"});
  CHECK(other.keys->access_key_id == "a");
  CHECK(stopped.code == errc::canceled);
  CHECK(script.asked() == 1);
}

TEST_CASE("stops race with answers, and each waiting call completes once", "[net][aws]") {
  for (int round = 0; round < 200; ++round) {
    const scripted script;
    const cached_aws_credentials cache(script);
    std::stop_source stop;
    std::atomic<int> calls{0};
    std::vector<diagnostics> where(8);
    for (diagnostics& each : where) {
      cache.async_find(stop.get_token(), each,
                       [&](std::error_code, std::optional<aws_credentials>) { ++calls; });
    }
    std::thread stopper([&] { stop.request_stop(); });
    script.answer({}, aws_credentials{.access_key_id = "a"});
    stopper.join();
    CHECK(calls == 8);
  }
}

TEST_CASE("threads may ask a cache side by side", "[net][aws]") {
  const cached_aws_credentials cache(explicit_aws_credentials({.access_key_id = "a"}));
  std::atomic<int> right{0};
  std::vector<diagnostics> where(800);  // an answer may come from another thread, later
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (std::size_t k = 0; k < 200; ++k) {
        cache.async_find({}, where[200 * i + k],
                         [&](std::error_code, std::optional<aws_credentials> found) {
                           if (found && found->access_key_id == "a") ++right;
                           if (found) cache.refuse(*found);
                         });
      }
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(right == 800);
}

TEST_CASE("a question that is dropped takes along who waits for it", "[net]") {
  const scripted from;
  const auto alive = std::make_shared<int>(0);
  diagnostics where;
  {
    const cached_aws_credentials cache(from);
    cache.async_find({}, where, [alive, cache](std::error_code, std::optional<aws_credentials>) {});
  }
  CHECK(alive.use_count() == 2);
  from.drop();
  CHECK(alive.use_count() == 1);
}

}  // namespace key_supply_test
