#pragma once

/// Sixteen bytes, as kernels move them. Memory is read in aligned words, whatever the alignment of
/// what is wanted, and shifted. For host and device.

#include <mdstream/core/host_device.hpp>
#include <mdstream/version.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::kernels {

struct alignas(16) word {
  std::uint64_t low = 0, high = 0;  // bytes 0 to 7 and 8 to 15
};

[[nodiscard]] MDSTREAM_HOST_DEVICE inline word operator|(word a, word b) noexcept {
  return {a.low | b.low, a.high | b.high};
}

/// Bytes move up by `bytes`, which is at most 16.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word shifted_up(word x, unsigned bytes) noexcept {
  const unsigned bits = 8 * (bytes % 8);
  if (bytes >= 16) return {};
  if (bytes >= 8) return {0, x.low << bits};
  if (bits == 0) return x;
  return {x.low << bits, (x.high << bits) | (x.low >> (64 - bits))};
}

/// Bytes move down by `bytes`, which is at most 16.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word shifted_down(word x, unsigned bytes) noexcept {
  const unsigned bits = 8 * (bytes % 8);
  if (bytes >= 16) return {};
  if (bytes >= 8) return {x.high >> bits, 0};
  if (bits == 0) return x;
  return {(x.low >> bits) | (x.high << (64 - bits)), x.high >> bits};
}

/// The first `bytes` of it, zeros behind.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word first_bytes(word x, unsigned bytes) noexcept {
  const auto mask = [](unsigned n) {
    return n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1;
  };
  return {x.low & mask(bytes), x.high & (bytes <= 8 ? 0 : mask(bytes - 8))};
}

/// The aligned word that holds the byte at `at`.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word aligned_word(std::uintptr_t at) noexcept {
  const std::uintptr_t begin = at & ~std::uintptr_t{15};
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const word*>(begin);
#else
  word x;
  __builtin_memcpy(&x, __builtin_assume_aligned(reinterpret_cast<const void*>(begin), 16), 16);
  return x;
#endif
}

/// `count` bytes from any address on, 1 to 16, zeros behind. Reads the aligned words, one or two,
/// that hold them.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word load_word(const std::byte* from,
                                                         unsigned count) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const auto offset = static_cast<unsigned>(at % 16);
  word x = shifted_down(aligned_word(at), offset);
  if (offset + count > 16) x = x | shifted_up(aligned_word(at + 16), 16 - offset);
  return first_bytes(x, count);
}

/// Stores the first `count` bytes at `to`, which is aligned to 16.
MDSTREAM_HOST_DEVICE inline void store_word(std::byte* to, word x, unsigned count) noexcept {
  if (count == 16) {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<word*>(to) = x;
#else
    __builtin_memcpy(to, &x, 16);
#endif
    return;
  }
  for (unsigned i = 0; i < count; ++i)
    to[i] = static_cast<std::byte>((i < 8 ? x.low >> (8 * i) : x.high >> (8 * (i - 8))) & 0xff);
}

}  // namespace mdstream::inline v0::kernels
