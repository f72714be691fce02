#pragma once

// Which sanitizer this program runs under: tests that repeat the same thing at many places do so at
// fewer of them where each takes ten times as long.

namespace support {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif
inline constexpr bool sanitized = under_asan || under_tsan;

}  // namespace support
