#pragma once

/// Random numbers that belong to one sample of one epoch: the same in every world, on every thread,
/// on host and device. Integer code of our own, pinned by published vectors.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <limits>

namespace mdstream::inline v0 {

/// 128 bits of the counter and 64 of the key of Philox4x32-10.
struct philox_block {
  std::uint32_t word[4];
};

/// Philox4x32-10 of J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel Random Numbers: As Easy as 1,
/// 2, 3" (SC11): ten rounds, every counter its own block.
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr philox_block philox(philox_block counter,
                                                                 std::uint64_t key) noexcept {
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter.word[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter.word[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.word[1] ^ low,
                static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.word[3] ^ high,
                static_cast<std::uint32_t>(a)}};
    low += 0x9E3779B9U;
    high += 0xBB67AE85U;
  }
  return counter;
}

/// The generator of the sample at one place of the canonical order of one epoch: a model of
/// `std::uniform_random_bit_generator`. Distributions of the standard library give other numbers
/// from one library to the next; `below` and `uniform` do not. Up to 2^33 numbers a sample.
class sample_generator {
 public:
  using result_type = std::uint64_t;

  /// `place`: the sample's number in the canonical order of the epoch, so that a sample which comes
  /// twice differs.
  MDSTREAM_HOST_DEVICE constexpr sample_generator(std::uint64_t seed, std::uint64_t epoch,
                                                  std::uint64_t place) noexcept
      : key_(mix(seed, epoch)), place_(place) {}

  [[nodiscard]] static constexpr result_type min() noexcept { return 0; }
  [[nodiscard]] static constexpr result_type max() noexcept {
    return std::numeric_limits<result_type>::max();
  }

  MDSTREAM_HOST_DEVICE constexpr result_type operator()() noexcept {
    const std::uint64_t block = drawn_ / 2;
    if (drawn_++ % 2 != 0) return std::uint64_t{block_.word[3]} << 32 | block_.word[2];
    block_ = philox({{static_cast<std::uint32_t>(block), 0, static_cast<std::uint32_t>(place_),
                      static_cast<std::uint32_t>(place_ >> 32)}},
                    key_);
    return std::uint64_t{block_.word[1]} << 32 | block_.word[0];
  }

  /// 0 … bound - 1, each as likely as the others. Precondition: bound > 0.
  /// D. Lemire, "Fast Random Integer Generation in an Interval" (2019).
  MDSTREAM_HOST_DEVICE constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    const std::uint64_t unfair = (0 - bound) % bound;
    while (true) {
      __extension__ using wide = unsigned __int128;
      const wide product = static_cast<wide>((*this)()) * bound;
      if (static_cast<std::uint64_t>(product) >= unfair)
        return static_cast<std::uint64_t>(product >> 64);
    }
  }

  /// A multiple of 2^-53 in [0, 1).
  MDSTREAM_HOST_DEVICE constexpr double uniform() noexcept {
    return static_cast<double>((*this)() >> 11) * 0x1p-53;
  }

 private:
  /// The finalizer of SplitMix64, so that seeds and epochs that are close give keys that are not.
  MDSTREAM_HOST_DEVICE static constexpr std::uint64_t mix(std::uint64_t seed,
                                                          std::uint64_t epoch) noexcept {
    std::uint64_t z = seed + (epoch + 1) * 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
  }

  std::uint64_t key_;
  std::uint64_t place_;
  std::uint64_t drawn_ = 0;
  philox_block block_{};
};

}  // namespace mdstream::inline v0
