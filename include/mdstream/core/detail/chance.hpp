#pragma once

/// What brings the pauses of those who fail together apart.

#include <mdstream/version.hpp>

#include <random>

namespace mdstream::inline v0::detail {

/// Uniform in [0, 1). Seeded once a thread: the system's random numbers cost a call more than many
/// a request does.
[[nodiscard]] inline double chance() {
  thread_local std::minstd_rand random{std::random_device{}()};
  return std::uniform_real_distribution<>()(random);
}

}  // namespace mdstream::inline v0::detail
