#pragma once

/// Where the bytes of a region go: into one word in registers, which is what a device's threads
/// make, or straight to memory in longer stretches, which is what a processor does best.

#include <mdstream/cuda/execution.cuh>
#include <mdstream/cuda/word.cuh>

#include <cstring>
#include <type_traits>

namespace mdstream::inline v0::kernels {

/// Up to 16 bytes. Positions count from its first byte; every byte is given at most once.
class word_sink {
 public:
  static constexpr std::uint64_t bytes = 16;

  MDSTREAM_HOST_DEVICE explicit word_sink(std::byte* to) noexcept : to_(to) {}

  MDSTREAM_HOST_DEVICE void copy(std::uint64_t at, const std::byte* from,
                                 std::uint64_t count) noexcept {
    made_ = made_ |
            shifted_up(load_word(from, static_cast<unsigned>(count)), static_cast<unsigned>(at));
  }
  /// Bytes of the pattern that repeats every eight.
  MDSTREAM_HOST_DEVICE void fill(std::uint64_t at, std::uint64_t pattern,
                                 std::uint64_t count) noexcept {
    const word all{pattern, pattern};
    const word tail = first_bytes(all, static_cast<unsigned>(at + count));
    made_ = made_ |
            shifted_up(shifted_down(tail, static_cast<unsigned>(at)), static_cast<unsigned>(at));
  }
  /// A number of that many bytes.
  template <class Number>
  MDSTREAM_HOST_DEVICE void number(std::uint64_t at, std::uint64_t value) noexcept {
    made_ = made_ | shifted_up(first_bytes({value, 0}, sizeof(Number)), static_cast<unsigned>(at));
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
  static constexpr std::uint64_t bytes = 1 << 14;

  explicit memory_sink(std::byte* to) noexcept : to_(to) {}

  void copy(std::uint64_t at, const std::byte* from, std::uint64_t count) noexcept {
    std::memcpy(to_ + at, from, count);
  }
  void fill(std::uint64_t at, std::uint64_t pattern, std::uint64_t count) noexcept {
    if (pattern % 256 * 0x0101010101010101 == pattern) {
      std::memset(to_ + at, static_cast<int>(pattern % 256), count);
      return;
    }
    std::uint64_t done = 0;
    for (; done < count && (at + done) % 8 != 0; ++done) put(at + done, pattern);
    for (; done + 8 <= count; done += 8) std::memcpy(to_ + at + done, &pattern, 8);
    for (; done < count; ++done) put(at + done, pattern);
  }
  template <class Number>
  void number(std::uint64_t at, std::uint64_t value) noexcept {
    std::memcpy(to_ + at, &value, sizeof(Number));  // little-endian
  }
  void finish(std::uint64_t) noexcept {}

 private:
  void put(std::uint64_t at, std::uint64_t pattern) noexcept {
    to_[at] = static_cast<std::byte>((pattern >> (8 * (at % 8))) & 0xff);
  }

  std::byte* to_;
};

/// What a thread makes at a time.
using default_sink = std::conditional_t<on_device, word_sink, memory_sink>;

}  // namespace mdstream::inline v0::kernels
