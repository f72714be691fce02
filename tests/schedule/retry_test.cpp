#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>

#include <chrono>
#include <optional>
#include <system_error>

#include "support/catch.hpp"

namespace retry_test {

namespace mds = mdstream;
using mds::errc;
using namespace std::chrono_literals;

TEST_CASE("attempts are counted in all, and pauses double with some chance", "[schedule]") {
  const mds::retry_policy policy{.attempts = 4, .pause = 1s};
  const std::error_code failure = errc::unavailable;
  CHECK(mds::pause_before_retry(policy, 1, failure, 0.0) == 1000ms);
  CHECK(mds::pause_before_retry(policy, 1, failure, 0.5) == 1250ms);
  CHECK(mds::pause_before_retry(policy, 2, failure, 0.0) == 2000ms);
  CHECK(mds::pause_before_retry(policy, 3, failure, 0.0) == 4000ms);
  CHECK_FALSE(mds::pause_before_retry(policy, 4, failure, 0.0));
  CHECK_FALSE(mds::pause_before_retry({.attempts = 1}, 1, failure, 0.0));
}

TEST_CASE("decorrelated pauses lie between the first and three times the last", "[schedule]") {
  const mds::retry_policy policy{
      .attempts = 9, .pause = 1s, .longest = 30s, .jitter = mds::retry_jitter::decorrelated};
  const auto pause = [&](double chance, std::chrono::nanoseconds before) {
    return *mds::pause_before_retry(policy, 1, errc::unavailable, chance, std::nullopt, before);
  };
  CHECK(pause(0.0, 0s) == 1s);
  CHECK(pause(0.5, 0s) == 2s);
  CHECK(pause(0.0, 9s) == 1s);
  CHECK(pause(0.5, 5s) == 8s);
  CHECK(pause(0.99, 25s) == 30s);
  CHECK_FALSE(mds::pause_before_retry(policy, 9, errc::unavailable, 0.5, std::nullopt, 5s));
}

TEST_CASE("a pause is bounded, however many attempts failed", "[schedule]") {
  const mds::retry_policy policy{.attempts = 5000, .pause = 1s, .longest = 30s};
  CHECK(mds::pause_before_retry(policy, 6, errc::io_error, 0.9) == 30s);
  CHECK(mds::pause_before_retry(policy, 4000, errc::io_error, 0.9) == 30s);
}

TEST_CASE("a store that asks for a pause is not asked again before", "[schedule]") {
  const mds::retry_policy policy{.attempts = 5, .pause = 1s, .longest = 30s};
  CHECK(mds::pause_before_retry(policy, 1, errc::unavailable, 0.0, 7s) == 7s);
  CHECK(mds::pause_before_retry(policy, 1, errc::unavailable, 0.5, 7s) == 7250ms);
  CHECK(mds::pause_before_retry(policy, 4, errc::unavailable, 0.0, 7s) == 8s);
  CHECK(mds::pause_before_retry(policy, 1, errc::unavailable, 0.0, 0s) == 1s);
  CHECK(mds::pause_before_retry(policy, 1, errc::unavailable, 0.0, 24h) == 30s);
  CHECK_FALSE(mds::pause_before_retry(policy, 5, errc::unavailable, 0.0, 1s));
}

TEST_CASE("a store that fails for a minute is outlived by seven attempts, by the clock of a test",
          "[schedule]") {
  const auto answers_after = [](unsigned attempts) -> std::optional<std::chrono::nanoseconds> {
    const mds::retry_policy policy{.attempts = attempts, .pause = 1s};
    std::chrono::nanoseconds now = 0s;
    for (unsigned failed = 0; now < 60s;) {
      const auto pause = mds::pause_before_retry(policy, ++failed, errc::unavailable, 0.0);
      if (!pause) return std::nullopt;
      now += *pause;
    }
    return now;
  };
  CHECK(answers_after(7) == 63s);
  CHECK_FALSE(answers_after(6));
  CHECK_FALSE(answers_after(2));
}

TEST_CASE("only what may pass is tried again", "[schedule]") {
  const mds::retry_policy policy{.attempts = 9};
  for (const errc code : {errc::corrupt, errc::io_error, errc::unavailable}) {
    CHECK(mds::pause_before_retry(policy, 1, code, 0.0).has_value());
  }
  for (const errc code :
       {errc::end_of_epoch, errc::canceled, errc::invalid_argument, errc::not_found,
        errc::out_of_range, errc::schema_mismatch, errc::unsupported, errc::state_mismatch,
        errc::cache_too_small, errc::no_space, errc::permission_denied}) {
    CHECK_FALSE(mds::pause_before_retry(policy, 1, code, 0.0).has_value());
  }
  CHECK(mds::is_retryable(std::make_error_code(std::errc::connection_reset)));
}

TEST_CASE("what is transient is known: unavailable, a connection's failure, a lack of descriptors",
          "[schedule]") {
  CHECK(mds::is_transient(errc::unavailable));
  for (const std::errc each :
       {std::errc::connection_reset, std::errc::connection_refused, std::errc::timed_out,
        std::errc::host_unreachable, std::errc::too_many_files_open}) {
    CHECK(mds::is_transient(std::make_error_code(each)));
  }
  for (const std::errc each : {std::errc::permission_denied, std::errc::invalid_argument,
                               std::errc::no_such_file_or_directory, std::errc::io_error}) {
    CHECK_FALSE(mds::is_transient(std::make_error_code(each)));
  }
  for (const errc each : {errc::io_error, errc::corrupt, errc::permission_denied})
    CHECK_FALSE(mds::is_transient(each));
}

}  // namespace retry_test
