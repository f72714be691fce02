#pragma once

/// Random numbers of no quality to speak of: names and pauses that differ between processes. Not by
/// <random>, which is large.

#include <mdstream/version.hpp>

#include <cstdint>

namespace mdstream::inline v0::detail {

/// 64 random bits of the system.
[[nodiscard]] std::uint64_t random_bits();

/// A generator of one word. Source: Vigna, splitmix64.
class splitmix64 {
 public:
  explicit constexpr splitmix64(std::uint64_t seed) noexcept : state_(seed) {}
  constexpr std::uint64_t operator()() noexcept {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Uniform in [0, 1): what brings the pauses of calls that fail together apart. Seeded once a
/// thread: the system's random numbers cost a call more than many a request does.
[[nodiscard]] inline double chance() {
  thread_local splitmix64 random(random_bits());
  return static_cast<double>(random() >> 11) * 0x1p-53;
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/chance.ipp>
#endif
