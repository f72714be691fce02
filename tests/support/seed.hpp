#pragma once

// The seed of all randomised tests of a run: MDSTREAM_TEST_SEED, else a fresh one. support/main.cpp
// prints it first and gives it to Catch2, so a failure or a time-out leaves it in the log.

#include <cstdlib>
#include <random>
#include <string>

namespace support {

/// `round`: of a test that runs several times. Catch2's own `random` would give it two seeds at
/// most, since it seeds its generator anew before each round.
inline unsigned test_seed(unsigned round = 0) {
  static const unsigned seed = [] {
    if (const char* given = std::getenv("MDSTREAM_TEST_SEED"))
      return static_cast<unsigned>(std::stoul(given));
    return std::random_device{}() | 1U;  // 0 would leave Catch2's generator as it is
  }();
  return seed + round;
}

}  // namespace support
