#pragma once

/// Where the bytes of a region go: into one word in registers, which is what a device's threads
/// make, or straight to memory in longer stretches, which is what a processor does best.

#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/word.cuh>

#include <bit>
#include <cstring>
#include <type_traits>

namespace mdstream::inline v0::kernels {

/// Up to 16 bytes. Positions count from its first byte; every byte is given at most once.
class word_sink {
 public:
  static constexpr std::uint64_t bytes = 16;
  static constexpr std::uint64_t lanes = 32;
  static constexpr std::uint64_t threads = 1 << 18;  // as many as large devices run

  /// Whole words, each `step` bytes behind the one before.
  struct runs {
    std::byte* to;
    std::uint64_t words;
    std::uint64_t step;

    MDSTREAM_HOST_DEVICE void copy(const std::byte* from) const noexcept {
      const auto at = reinterpret_cast<std::uintptr_t>(from);
      const auto offset = static_cast<unsigned>(at % bytes);
      if (offset == 0)
        for_each([at, this](std::uint64_t i) { return aligned_word(at + i * step); });
      else
        for_each([at, offset, this](std::uint64_t i) {
          const std::uintptr_t word_at = at + i * step;
          return funnel_shifted(aligned_word(word_at), aligned_word(word_at + bytes), offset);
        });
    }
    MDSTREAM_HOST_DEVICE void fill(std::uint64_t pattern) const noexcept {
      for_each([pattern](std::uint64_t) { return word{pattern, pattern}; });
    }
    /// Numbers of 32 bits from `first` on, which go on from word to word.
    MDSTREAM_HOST_DEVICE void count(std::uint32_t first) const noexcept {
      const auto pair = [](std::uint32_t number) {
        return std::uint64_t{number + 1} << 32 | number;
      };
      for_each([first, pair, this](std::uint64_t i) {
        const auto number = first + static_cast<std::uint32_t>(i * (step / 4));
        return word{pair(number), pair(number + 2)};
      });
    }

   private:
    /// Some at a time, so that the loads of all are under way before the first is stored.
    template <class Make>
    MDSTREAM_HOST_DEVICE void for_each(const Make& make) const noexcept {
      constexpr std::uint64_t at_once = 2;
      std::uint64_t i = 0;
      MDSTREAM_ROLLED
      for (; words - i >= at_once; i += at_once) {
        word made[at_once];
        for (std::uint64_t j = 0; j < at_once; ++j) made[j] = make(i + j);
        for (std::uint64_t j = 0; j < at_once; ++j) store_word(to + (i + j) * step, made[j], bytes);
      }
      MDSTREAM_ROLLED
      for (; i < words; ++i) store_word(to + i * step, make(i), bytes);
    }
  };

  MDSTREAM_HOST_DEVICE explicit word_sink(std::byte* to) noexcept : to_(to) {}

  MDSTREAM_HOST_DEVICE void copy(std::uint64_t at, const std::byte* from,
                                 std::uint64_t count) noexcept {
    if (count == bytes)
      made_ = load_some(from, bytes);
    else
      made_ = made_ |
              shifted_up(load_word(from, static_cast<unsigned>(count)), static_cast<unsigned>(at));
  }
  /// Bytes of the pattern that repeats every eight.
  MDSTREAM_HOST_DEVICE void fill(std::uint64_t at, std::uint64_t pattern,
                                 std::uint64_t count) noexcept {
    const word all{pattern, pattern};
    const word up_to_end = first_bytes(all, static_cast<unsigned>(at + count));
    const word before = first_bytes(all, static_cast<unsigned>(at));
    made_ = made_ | word{up_to_end.low ^ before.low, up_to_end.high ^ before.high};
  }
  /// A number, at a multiple of its size.
  template <class Number>
  MDSTREAM_HOST_DEVICE void number(std::uint64_t at, std::uint64_t value) noexcept {
    static_assert(sizeof(Number) <= sizeof value);
    constexpr std::uint64_t bits = ~std::uint64_t{0} >> (64 - 8 * sizeof(Number));
    const std::uint64_t placed = (value & bits) << (8 * (at % sizeof value));
    (at < sizeof value ? made_.low : made_.high) |= placed;
  }
  /// `count` bytes of numbers of 32 bits from `first` on.
  MDSTREAM_HOST_DEVICE void count(std::uint64_t at, std::uint32_t first,
                                  std::uint64_t count) noexcept {
    MDSTREAM_ROLLED
    for (std::uint64_t i = 0; i < count; i += sizeof(std::int32_t))
      number<std::int32_t>(at + i, first++);
  }
  MDSTREAM_HOST_DEVICE void finish(std::uint64_t count) noexcept {
    store_word(to_, made_, static_cast<unsigned>(count));
  }

 private:
  std::byte* to_;
  word made_{};
};

/// Memory of the host.
class memory_sink {
 public:
  // What a processor makes at a time fits, with its samples, into a second-level cache.
  static constexpr std::uint64_t bytes = 1 << 16;
  static constexpr std::uint64_t lanes = 1;
  static constexpr std::uint64_t threads = 1;

  explicit memory_sink(std::byte* to) noexcept : to_(to) {}

  void copy(std::uint64_t at, const std::byte* from, std::uint64_t count) noexcept {
    std::memcpy(to_ + at, from, count);
  }
  void fill(std::uint64_t at, std::uint64_t pattern, std::uint64_t count) noexcept {
    std::byte* const to = to_ + at;
    if (pattern % 256 * 0x0101010101010101 == pattern) {
      std::memset(to, static_cast<int>(pattern % 256), count);
      return;
    }
    pattern = std::rotr(pattern, static_cast<int>(at % 8 * 8));
    std::uint64_t done = 0;
    for (; done + 8 <= count; done += 8) std::memcpy(to + done, &pattern, 8);
    std::memcpy(to + done, &pattern, count - done);
  }
  /// `count` bytes of numbers of 32 bits from `first` on.
  void count(std::uint64_t at, std::uint32_t first, std::uint64_t count) noexcept {
    std::byte* const to = to_ + at;
    for (std::uint64_t i = 0; i < count / 4; ++i) {
      const std::uint32_t number = first + static_cast<std::uint32_t>(i);
      std::memcpy(to + i * 4, &number, 4);
    }
  }
  template <class Number>
  void number(std::uint64_t at, std::uint64_t value) noexcept {
    std::memcpy(to_ + at, &value, sizeof(Number));  // little-endian
  }
  void finish(std::uint64_t) noexcept {}

 private:
  std::byte* to_;
};

/// What a thread makes at a time.
using default_sink = std::conditional_t<on_device, word_sink, memory_sink>;

/// How an output is dealt to the numbers of `for_each_index`, `Sink::bytes` at a time: `lanes`
/// numbers in a row share a tile and take turns at it, so that the threads of a warp write memory
/// that lies together while what each has found out serves it for up to `MostTurns` pieces. Small
/// outputs have fewer turns, so that there is work for `Sink::threads`.
template <class Sink, std::uint64_t MostTurns>
class dealt {
  static constexpr std::uint64_t lanes = Sink::lanes;

 public:
  explicit dealt(std::uint64_t bytes) noexcept : bytes_(bytes) {
    constexpr std::uint64_t most = lanes == 1 ? 1 : MostTurns;
    turns_ = bytes / Sink::bytes / Sink::threads;
    turns_ = turns_ < 1 ? 1 : turns_ > most ? most : turns_;
  }

  [[nodiscard]] std::uint64_t numbers() const noexcept {
    return (bytes_ / tile_bytes() + (bytes_ % tile_bytes() != 0 ? 1 : 0)) * lanes;
  }
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::uint64_t tile_bytes() const noexcept {
    return step * turns_;
  }
  /// Where the tile of a number begins.
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::uint64_t tile(std::int64_t number) const noexcept {
    return static_cast<std::uint64_t>(number) / lanes * tile_bytes();
  }
  /// How far the pieces of a number are from each other.
  static constexpr std::uint64_t step = Sink::bytes * lanes;
  /// Where the first piece of a number begins.
  [[nodiscard]] MDSTREAM_HOST_DEVICE std::uint64_t first(std::int64_t number) const noexcept {
    return tile(number) + static_cast<std::uint64_t>(number) % lanes * Sink::bytes;
  }

 private:
  std::uint64_t bytes_;
  std::uint64_t turns_;
};

}  // namespace mdstream::inline v0::kernels
