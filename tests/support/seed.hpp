#pragma once

// The seed of all randomised tests of a run: MDSTREAM_TEST_SEED, else a fresh one. support/main.cpp
// prints it first and gives it to Catch2, so a failure or a time-out leaves it in the log.

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

namespace support {

/// `round`: of a test that runs several times. Catch2's own `random` would give it two seeds at
/// most, since it seeds its generator anew before each round.
inline unsigned test_seed(unsigned round = 0) {
  static const unsigned seed = [] {
    const char* const given = std::getenv("MDSTREAM_TEST_SEED");
    if (given == nullptr) return std::random_device{}() | 1U;  // 0 would leave Catch2's as it is
    const std::string_view text = given;
    unsigned number = 0;
    const auto [end, failure] = std::from_chars(text.begin(), text.end(), number);
    if (failure != std::errc{} || end != text.end()) {
      std::fprintf(stderr, "MDSTREAM_TEST_SEED is no number below 2^32: '%s'\n", given);
      std::exit(2);
    }
    return number;
  }();
  return seed + round;
}

}  // namespace support
