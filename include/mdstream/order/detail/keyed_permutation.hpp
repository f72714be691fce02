#pragma once

/// Permutations of integers that are computed instead of stored, the same on host and device. What
/// they give is fixed for ever: orders of samples are made of them.
///
/// Rounds of addition, multiplication by an odd number and xor-shift, each one-to-one on the
/// integers below a power of two, walked until the result falls below n (the walk: Black and
/// Rogaway, "Ciphers with Arbitrary Finite Domains"). A round mixes all bits, where one of a
/// Feistel network mixes half of them, so four are enough for the statistics that docs/order.md
/// shows. Not for secrets.

#include <mdstream/core/detail/host_device.hpp>
#include <mdstream/version.hpp>

#include <cstdint>
#include <span>

namespace mdstream::inline v0::detail {

/// Spreads every bit of `x` over all of the result. Source: Stafford's variant 13 of MurmurHash3's
/// finaliser, as in SplitMix64.
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t mix_bits(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A key for one of many uses of another.
[[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t derive_key(std::uint64_t key,
                                                                      std::uint64_t use) noexcept {
  return mix_bits(key + 0x9e3779b97f4a7c15 * (use + 1));
}

/// A permutation of 0 … size - 1, chosen by a key. Calls take constant time on average: less than
/// two walks through the rounds. Copyable to a device.
template <unsigned Rounds>
class basic_permutation {
 public:
  basic_permutation() noexcept = default;  // nvcc wants no mark here: it is both by itself
  MDSTREAM_HOST_DEVICE constexpr basic_permutation(std::uint64_t size, std::uint64_t key) noexcept
      : size_(size) {
    if (size < 2) return;
    unsigned bits = 0;
    while (bits < 64 && (size - 1) >> bits != 0) ++bits;
    mask_ = ~std::uint64_t{0} >> (64 - bits);
    shift_ = (bits + 1) / 2;
    for (unsigned r = 0; r < Rounds; ++r) {
      add_[r] = derive_key(key, 2 * r);
      multiply_[r] = derive_key(key, 2 * r + 1) | 1;
    }
  }

  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t size() const noexcept { return size_; }

  /// Where the permutation takes `x`. Precondition: x < size().
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t operator()(
      std::uint64_t x) const noexcept {
    return walk(forward(x));
  }

  /// Where it takes each of `x`, in place: the same as one call for each, without the branch that
  /// keeps a compiler from taking several at a time. Precondition: each below size(), which
  /// `Integer` holds.
  template <class Integer>
  void permute(std::span<Integer> x) const noexcept {
    for (Integer& one : x) one = forward(one);
    for (Integer& one : x) one = walk(one);
  }

  /// One step of the walk, whose result may lie at size() or above; `walk` goes on from there.
  /// Bits of `x` that `Integer` does not hold are zero, and so are those of the result.
  template <class Integer>
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr Integer forward(Integer x) const noexcept {
    for (unsigned r = 0; r < Rounds; ++r) {
      x = ((x + static_cast<Integer>(add_[r])) * static_cast<Integer>(multiply_[r])) &
          static_cast<Integer>(mask_);
      x ^= x >> shift_;
    }
    return x;
  }
  template <class Integer>
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr Integer walk(Integer x) const noexcept {
    while (x >= size_) x = forward(x);
    return x;
  }

 private:
  std::uint64_t size_ = 1;
  std::uint64_t mask_ = 0;
  unsigned shift_ = 0;
  std::uint64_t add_[Rounds] = {};
  std::uint64_t multiply_[Rounds] = {};
};

/// For use by itself: as good as random from two numbers on.
using keyed_permutation = basic_permutation<12>;

/// For use in pairs, one after the other over blocks that overlap.
using paired_permutation = basic_permutation<4>;

/// A permutation of 0 … size - 1 that moves nothing farther than `window`: two passes of permuted
/// blocks of half a window, the second set off by half a block, so that no border between blocks
/// remains.
class windowed_permutation {
 public:
  MDSTREAM_HOST_DEVICE constexpr windowed_permutation(std::uint64_t size, std::uint64_t window,
                                                      std::uint64_t key) noexcept
      : size_(size), width_(window / 2 == 0 ? 1 : window / 2), key_(key) {}

  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t size() const noexcept { return size_; }

  /// Precondition: x < size().
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr std::uint64_t operator()(
      std::uint64_t x) const noexcept {
    const block second = second_block(x);
    x = second.begin + second.order(x - second.begin);
    const block first = first_block(x);
    return first.begin + first.order(x - first.begin);
  }

  /// A stretch that is permuted in itself.
  struct block {
    std::uint64_t begin = 0, end = 0;
    paired_permutation order{};
  };
  /// The block of the pass that is applied second to the samples, which is first when reading.
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr block second_block(std::uint64_t x) const noexcept {
    const std::uint64_t lead = width_ / 2;
    const std::uint64_t number = x < lead ? 0 : (x - lead) / width_ + 1;
    const std::uint64_t begin = number == 0 ? 0 : lead + (number - 1) * width_;
    return make(begin, lead + number * width_, 2 * number + 1);
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr block first_block(std::uint64_t x) const noexcept {
    const std::uint64_t number = x / width_;
    return make(number * width_, (number + 1) * width_, 2 * number);
  }

 private:
  [[nodiscard]] MDSTREAM_HOST_DEVICE constexpr block make(std::uint64_t begin, std::uint64_t end,
                                                          std::uint64_t use) const noexcept {
    end = end < size_ ? end : size_;
    return {begin, end, paired_permutation(end - begin, derive_key(key_, use))};
  }

  std::uint64_t size_;
  std::uint64_t width_;
  std::uint64_t key_;
};

}  // namespace mdstream::inline v0::detail
