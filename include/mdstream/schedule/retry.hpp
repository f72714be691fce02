#pragma once

/// Whether a failed attempt is repeated, and when. Pure: no clock, no randomness of its own.

#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

namespace mdstream::inline v0 {

/// How the pauses of those who fail together come apart.
enum class retry_jitter : std::uint8_t {
  half_pause,    ///< up to half a `pause` more
  decorrelated,  ///< anything from `pause` to three times the pause before
};

/// `attempts` in all, the first included. Between two of them passes `pause · 2^i` plus up to half
/// a `pause` by chance, i = 0, 1, …, as upstream does with a pause of one second; or, decorrelated,
/// what chance makes of the pause before. Never more than `longest`.
///
/// With `patience`, transient errors do not count as attempts: the call is repeated until it has
/// brought nothing for that long.
struct retry_policy {
  unsigned attempts = 2;
  std::chrono::nanoseconds pause = std::chrono::seconds(1);
  std::chrono::nanoseconds longest = std::chrono::minutes(1);
  retry_jitter jitter = retry_jitter::half_pause;
  std::chrono::nanoseconds patience{0};
};

/// How long a program waits for a store that is out of order, unless it says otherwise.
inline constexpr std::chrono::minutes default_patience{15};

/// For the requests of who reads or writes for hours: pauses from 200 ms to half a minute, drawn
/// so that those who fail together come back apart.
[[nodiscard]] constexpr retry_policy patient_requests(std::chrono::nanoseconds patience,
                                                      unsigned attempts = 1) noexcept {
  return {.attempts = attempts,
          .pause = std::chrono::milliseconds(200),
          .longest = std::chrono::seconds(30),
          .jitter = retry_jitter::decorrelated,
          .patience = patience};
}

/// For the requests that a larger call is made of, which is not begun anew for one of them: seven
/// repetitions, in a quarter of a minute on average.
inline constexpr retry_policy patient_parts{.attempts = 8,
                                            .pause = std::chrono::milliseconds(250),
                                            .longest = std::chrono::minutes(1),
                                            .jitter = retry_jitter::decorrelated};

/// Whether trying again can help: failures of the way, damaged data, but neither what the caller
/// asked for nor what another attempt meets again.
[[nodiscard]] bool may_pass(const std::error_code& failure) noexcept;

/// Whether the store or the way to it failed, and may work again in a while: `errc::unavailable`,
/// or a code of any category that stands for the same, such as the system's for a connection that
/// is refused. What an unknown code means is not known, so that it is not waited for.
[[nodiscard]] bool is_transient(const std::error_code& failure) noexcept;

/// The pause before the next attempt after `failed` of them failed, the last with `failure`; none
/// when it is final. `chance` is uniform in [0, 1). Where the store asked for a pause
/// (`diagnostics::retry_after`), it is not asked again before that, or before `longest` where that
/// is less.
/// `before` is the last pause of this call, where there was one; decorrelated pauses grow from it.
/// `futile` is for how long the call has brought nothing: with a patience, a transient error is
/// final once that is spent, a pause that the store asked for may be longer than `longest`, and no
/// pause goes beyond the end of the patience, where the last attempt is made.
[[nodiscard]] std::optional<std::chrono::nanoseconds> pause_before_retry(
    const retry_policy& policy, unsigned failed, const std::error_code& failure, double chance,
    std::optional<std::chrono::milliseconds> asked = std::nullopt,
    std::chrono::nanoseconds before = {}, std::chrono::nanoseconds futile = {}) noexcept;

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/retry.ipp>
#endif
