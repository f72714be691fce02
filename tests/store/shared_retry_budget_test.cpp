#include <mdstream/schedule/detail/trouble.hpp>
#include <mdstream/store/detail/shared_retry_budget.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "support/catch.hpp"

namespace shared_retry_budget_test {

namespace mds = mdstream;
using namespace std::chrono_literals;
using mds::errc;
using time_point = mds::detail::call_attempts::clock::time_point;

/// One call against a clock that only its pauses move.
struct waiting_call {
  mds::detail::call_attempts made;
  mds::diagnostics where{};
  time_point now{};
  int attempts = 0;

  std::optional<std::chrono::nanoseconds> fail(std::error_code code = errc::unavailable) {
    ++attempts;
    const auto pause = made.pause_after(code, where, now);
    if (pause) now += *pause;
    return pause;
  }
};

TEST_CASE("a patient call is repeated until it has brought nothing for that long", "[store]") {
  waiting_call call{{mds::patient_requests(15min), {}}};
  std::optional<std::chrono::nanoseconds> pause;
  while ((pause = call.fail())) CHECK(*pause <= 30s);
  CHECK(call.now - time_point{} == 15min);  // the last attempt is made at the end
  CHECK(call.attempts > 30);
  CHECK(call.attempts < 300);
  CHECK(call.where.is_final);
  CHECK(call.where.cause.find("times within 900 s") != std::string::npos);
}

TEST_CASE("what brings bytes is as patient as at first", "[store]") {
  waiting_call call{{mds::patient_requests(1min), {}}};
  for (int i = 0; i < 100; ++i) {
    REQUIRE(call.fail());
    call.now += 59s;
    call.made.led_on();
  }
  CHECK(call.now - time_point{} > 90min);
}

TEST_CASE("patience is for transient errors alone", "[store]") {
  for (const errc code : {errc::not_found, errc::permission_denied, errc::corrupt, errc::io_error,
                          errc::no_space, errc::canceled}) {
    waiting_call call{{mds::patient_requests(1h, 1), {}}};
    CHECK_FALSE(call.fail(code));
  }
  waiting_call call{{mds::patient_requests(1h, 3), {}}};  // what may pass counts as attempts
  CHECK(call.fail(errc::io_error));
  CHECK(call.fail(errc::corrupt));
  CHECK_FALSE(call.fail(errc::io_error));
}

TEST_CASE("errors that are waited for leave the others all their attempts", "[store]") {
  waiting_call call{{mds::patient_requests(1h, 3), {}}};
  for (int i = 0; i < 5; ++i) CHECK(call.fail());
  CHECK(call.fail(errc::corrupt));
  CHECK(call.fail());
  CHECK(call.fail(errc::io_error));
  CHECK_FALSE(call.fail(errc::corrupt));
}

TEST_CASE("codes of a user's own category are attempts, and not waited for", "[store]") {
  static const struct category final : std::error_category {
    [[nodiscard]] const char* name() const noexcept override { return "own"; }
    [[nodiscard]] std::string message(int) const override { return "nobody knows"; }
  } own;
  for (const std::error_code code :
       {std::error_code(7, own), std::make_error_code(std::errc::permission_denied),
        std::make_error_code(std::errc::no_such_file_or_directory)}) {
    waiting_call call{{mds::patient_requests(1h, 2), {}}};
    CHECK(call.fail(code));
    CHECK_FALSE(call.fail(code));
  }
}

TEST_CASE("a patient call comes when the store wants it, be it minutes later", "[store]") {
  waiting_call call{{mds::patient_requests(15min), {}}};
  call.where.retry_after = 4min;
  const auto pause = call.fail();
  REQUIRE(pause);
  CHECK(*pause >= 4min);
  CHECK(*pause < 4min + 1s);
  call.where.retry_after = 24h;
  CHECK(call.fail());
  CHECK(call.now - time_point{} == 15min);  // not later than the patience lasts
}

TEST_CASE("where the budget is spent, patient calls come seldom, and others fail", "[store]") {
  const mds::detail::shared_retry_budget spent(mds::detail::retry_budget(0, 0));
  waiting_call patient{{mds::patient_requests(10min), spent}};
  while (patient.fail()) {
  }
  CHECK(patient.attempts == 21);  // every 30 s
  waiting_call other{{mds::retry_policy{.attempts = 5}, spent}};
  CHECK_FALSE(other.fail());
  CHECK(other.where.what.find("the retry budget is spent") != std::string::npos);
}

TEST_CASE("trouble is reported at once, and once a minute while it lasts", "[store]") {
  mds::detail::trouble_log log;
  const time_point begin{};
  CHECK(log.failed(begin));
  CHECK_FALSE(log.failed(begin + 1s));
  CHECK_FALSE(log.failed(begin + 59s));
  CHECK(log.failed(begin + 60s));
  CHECK_FALSE(log.failed(begin + 61s));
  CHECK(log.failed(begin + 1h));
}

TEST_CASE("a warning says what failed where, and for how long it is tried", "[store]") {
  std::vector<std::string> warnings;
  const mds::detail::shared_retry_budget budget(
      mds::detail::retry_budget(),
      mds::detail::tells_of_trouble([&](const std::string& text) { warnings.push_back(text); },
                                    "c4", 15min));
  waiting_call call{{mds::patient_requests(15min, 2), budget}};
  call.where = {.what = "S3 answers 503 SlowDown", .url = "s3://b/x"};
  CHECK(call.fail(errc::io_error));
  CHECK(warnings.empty());
  CHECK(call.fail());
  CHECK(call.fail());
  CHECK(budget.repeated() == 3);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "a store has trouble: S3 answers 503 SlowDown (stream \"c4\", s3://b/x); a request is "
        "repeated for up to 900 s");
}

}  // namespace shared_retry_budget_test
