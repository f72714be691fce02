#pragma once

/// CRC-32C (RFC 3720, appendix B.4), which Google's storage gives for its objects and row indexes
/// keep. By the processor's own instruction where there is one.

#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace mdstream::inline v0::detail {

using crc32c_tables = std::array<std::array<std::uint32_t, 256>, 8>;

[[nodiscard]] constexpr crc32c_tables make_crc32c_tables() {
  crc32c_tables out{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0u);
    out[0][i] = value;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i) {
      out[t][i] = out[t - 1][i] >> 8 ^ out[0][out[t - 1][i] & 0xFF];
    }
  }
  return out;
}

inline constexpr crc32c_tables crc32c_table = make_crc32c_tables();

/// Eight bytes at a time by tables, on any processor.
[[nodiscard]] inline std::uint32_t crc32c_portable(bytes_view bytes, std::uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    const std::uint64_t word = load<std::uint64_t>(at) ^ crc;
    crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc ^= crc32c_table[7 - i][word >> (8 * i) & 0xFF];
  }
  for (; left > 0; --left, ++at) {
    crc = crc >> 8 ^ crc32c_table[0][(crc ^ std::to_integer<std::uint32_t>(*at)) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__)
#define MDSTREAM_CRC32C_TARGET __attribute__((target("sse4.2")))
#define MDSTREAM_CRC32C_OF_8 __builtin_ia32_crc32di
#define MDSTREAM_CRC32C_OF_1 __builtin_ia32_crc32qi
#elif defined(__clang__)
#define MDSTREAM_CRC32C_TARGET __attribute__((target("crc")))
#define MDSTREAM_CRC32C_OF_8 __builtin_arm_crc32cd
#define MDSTREAM_CRC32C_OF_1 __builtin_arm_crc32cb
#else
#define MDSTREAM_CRC32C_TARGET __attribute__((target("+crc")))
#define MDSTREAM_CRC32C_OF_8 __builtin_aarch64_crc32cx
#define MDSTREAM_CRC32C_OF_1 __builtin_aarch64_crc32cb
#endif

/// Whether this processor has the instruction, which is optional in x86-64 and in ARMv8.0.
[[nodiscard]] inline bool has_crc32c_instruction() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2");
#else
  return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

/// The product of two polynomials modulo CRC-32C's, bit 31 of each being the coefficient of 1.
[[nodiscard]] constexpr std::uint32_t crc32c_product(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t out = 0;
  for (; a != 0; a <<= 1) {
    if ((a & 0x80000000u) != 0) out ^= b;
    b = b >> 1 ^ (b & 1 ? 0x82F63B78u : 0u);
  }
  return out;
}

/// What the checksum of bytes is multiplied by when `bytes` others follow: x to 8 times their
/// number. In time of the logarithm of `bytes`.
[[nodiscard]] constexpr std::uint32_t crc32c_shift(std::uint64_t bytes) noexcept {
  std::uint32_t out = 0x80000000u;
  for (std::uint32_t power = 0x00800000u; bytes != 0; bytes >>= 1) {
    if (bytes & 1) out = detail::crc32c_product(power, out);
    power = detail::crc32c_product(power, power);
  }
  return out;
}

/// Precondition, of the next one too: has_crc32c_instruction().
[[nodiscard]] MDSTREAM_CRC32C_TARGET inline std::uint32_t crc32c_of_8(const std::byte* at,
                                                                      std::uint32_t crc) noexcept {
  return static_cast<std::uint32_t>(MDSTREAM_CRC32C_OF_8(crc, load<std::uint64_t>(at)));
}

[[nodiscard]] MDSTREAM_CRC32C_TARGET inline std::uint32_t crc32c_by_instruction(
    bytes_view bytes, std::uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  // The instruction takes three cycles, and one begins in each: three stretches side by side.
  constexpr std::size_t stretch = std::size_t{8} << 10;
  constexpr std::uint32_t shift = detail::crc32c_shift(stretch);
  for (; left >= 3 * stretch; left -= 3 * stretch) {
    std::uint32_t second = 0, third = 0;
    for (const std::byte* const end = at + stretch; at != end; at += 8) {
      crc = detail::crc32c_of_8(at, crc);
      second = detail::crc32c_of_8(at + stretch, second);
      third = detail::crc32c_of_8(at + 2 * stretch, third);
    }
    at += 2 * stretch;
    crc = detail::crc32c_product(shift, crc) ^ second;
    crc = detail::crc32c_product(shift, crc) ^ third;
  }
  for (; left >= 8; left -= 8, at += 8) crc = detail::crc32c_of_8(at, crc);
  for (; left > 0; --left, ++at) {
    crc = MDSTREAM_CRC32C_OF_1(crc, std::to_integer<unsigned char>(*at));
  }
  return crc;
}
#undef MDSTREAM_CRC32C_TARGET
#undef MDSTREAM_CRC32C_OF_8
#undef MDSTREAM_CRC32C_OF_1

/// The checksum of `bytes`; of bytes that follow others whose checksum is `before`.
[[nodiscard]] inline std::uint32_t crc32c(bytes_view bytes, std::uint32_t before = 0) noexcept {
  return has_crc32c_instruction() ? ~detail::crc32c_by_instruction(bytes, ~before)
                                  : ~detail::crc32c_portable(bytes, ~before);
}

/// The checksum of bytes of which the first have the checksum `first`, and the `bytes` behind them
/// `second`. In time of the logarithm of `bytes`.
[[nodiscard]] constexpr std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second,
                                                    std::uint64_t bytes) noexcept {
  return detail::crc32c_product(detail::crc32c_shift(bytes), first) ^ second;
}

}  // namespace mdstream::inline v0::detail
