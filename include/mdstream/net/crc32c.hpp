#pragma once

/// CRC-32C (RFC 3720, appendix B.4), which Google's storage gives for its objects. By the
/// processor's own instruction where there is one.

#include <mdstream/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::net {

namespace detail {

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
[[nodiscard]] __attribute__((target("sse4.2"))) inline std::uint32_t crc32c_by_instruction(
    bytes_view bytes, std::uint32_t crc) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t wide = crc;
  for (; left >= 8; left -= 8, at += 8) {
    wide = __builtin_ia32_crc32di(wide, load<std::uint64_t>(at));
  }
  crc = static_cast<std::uint32_t>(wide);
  for (; left > 0; --left, ++at) {
    crc = __builtin_ia32_crc32qi(crc, std::to_integer<unsigned char>(*at));
  }
  return crc;
}
#endif

}  // namespace detail

/// The checksum of `bytes`; of bytes that follow others whose checksum is `before`.
[[nodiscard]] inline std::uint32_t crc32c(bytes_view bytes, std::uint32_t before = 0) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~detail::crc32c_by_instruction(bytes, ~before);
#endif
  return ~detail::crc32c_portable(bytes, ~before);
}

}  // namespace mdstream::inline v0::net
