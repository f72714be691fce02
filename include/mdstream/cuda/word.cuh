#pragma once

/// Sixteen bytes, as kernels move them. Memory is read in aligned words, whatever the alignment of
/// what is wanted, and shifted. For host and device.

#include <mdstream/core/detail/host_device.hpp>
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

/// Sixteen of the 32 bytes of `x` and `y`, from byte `offset` on, which is at most 15.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word funnel_shifted(word x, word y,
                                                              unsigned offset) noexcept {
  const unsigned bits = 8 * (offset % 8);
  const bool far = offset >= 8;
  const std::uint64_t a = far ? x.high : x.low, b = far ? y.low : x.high, c = far ? y.high : y.low;
  // Two shifts, because one of all 64 bits has no meaning.
  return {(a >> bits) | ((b << 1) << (63 - bits)), (b >> bits) | ((c << 1) << (63 - bits))};
}

/// The first `bytes` of it, zeros behind.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word first_bytes(word x, unsigned bytes) noexcept {
  const auto mask = [](unsigned n) {
    return n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1;
  };
  return {x.low & mask(bytes), x.high & (bytes <= 8 ? 0 : mask(bytes - 8))};
}

/// The aligned word that holds the byte at `at`, which no thread of the kernel writes.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word aligned_word(std::uintptr_t at) noexcept {
  const std::uintptr_t begin = at & ~std::uintptr_t{15};
#if defined(__CUDA_ARCH__)
  const ulonglong2 x = __ldg(reinterpret_cast<const ulonglong2*>(begin));
  return {x.x, x.y};
#else
  word x;
  __builtin_memcpy(&x, __builtin_assume_aligned(reinterpret_cast<const void*>(begin), 16), 16);
  return x;
#endif
}

/// `count` bytes from any address on, 1 to 16, and any others behind. Reads the aligned words, one
/// or two, that hold them.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word load_some(const std::byte* from,
                                                         unsigned count) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(from);
  const auto offset = static_cast<unsigned>(at % 16);
  const word x = aligned_word(at);
  return funnel_shifted(x, offset + count > 16 ? aligned_word(at + 16) : word{}, offset);
}

/// The same, with zeros behind.
[[nodiscard]] MDSTREAM_HOST_DEVICE inline word load_word(const std::byte* from,
                                                         unsigned count) noexcept {
  return first_bytes(load_some(from, count), count);
}

/// Stores the first `count` bytes at `to`, which is aligned to 16.
MDSTREAM_HOST_DEVICE inline void store_word(std::byte* to, word x, unsigned count) noexcept {
  if (count == 16) {
#if defined(__CUDA_ARCH__)
    // One store: of a struct's members the compiler makes one each.
    __stcg(reinterpret_cast<ulonglong2*>(to), make_ulonglong2(x.low, x.high));
#else
    __builtin_memcpy(to, &x, 16);
#endif
    return;
  }
  MDSTREAM_ROLLED
  for (unsigned i = 0; i < count; ++i)
    to[i] = static_cast<std::byte>((i < 8 ? x.low >> (8 * i) : x.high >> (8 * (i - 8))) & 0xff);
}

/// Stores the first `count` bytes, 1, 2, 4, 8 or 16, at a multiple of as many.
MDSTREAM_HOST_DEVICE inline void store_number(std::byte* to, word x, unsigned count) noexcept {
  switch (count) {
    case 1: *to = static_cast<std::byte>(x.low & 0xff); break;
    case 2: *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(x.low); break;
    case 4: *reinterpret_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(x.low); break;
    case 8: *reinterpret_cast<std::uint64_t*>(to) = x.low; break;
    default: store_word(to, x, 16); break;
  }
}

}  // namespace mdstream::inline v0::kernels
