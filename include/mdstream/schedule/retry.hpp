#pragma once

/// Decides whether and when a failed call is retried. Pure: no clock, no randomness of its own.

#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

namespace mdstream::inline v0 {

/// How pauses are drawn, so that calls that fail together are not retried together.
enum class retry_jitter : std::uint8_t {
  half_pause,    ///< up to half a `pause` more
  decorrelated,  ///< anything from `pause` to three times the pause before
};

/// How often a call is attempted, and the pauses between. `attempts` counts the first one, too. The
/// pause after attempt i (from 0) is `pause · 2^i` and a random part of up to half a `pause`; with
/// `decorrelated` it is drawn between `pause` and three times the pause before. It is at most
/// `longest`.
///
/// With `patience`, transient errors do not count as attempts: the call is retried until no byte
/// has arrived for that long.
///
///     const mds::retry_policy policy{.attempts = 4, .pause = std::chrono::milliseconds(500)};
struct retry_policy {
  unsigned attempts = 2;                                       ///< the first one included
  std::chrono::nanoseconds pause = std::chrono::seconds(1);    ///< the first pause, or the shortest
  std::chrono::nanoseconds longest = std::chrono::minutes(1);  ///< the longest pause
  retry_jitter jitter = retry_jitter::half_pause;  ///< how a pause is drawn, see `retry_jitter`
  std::chrono::nanoseconds patience{0};  ///< for transient errors; 0: they count as attempts
};

/// How long a store may be unavailable, by default.
inline constexpr std::chrono::minutes default_patience{15};

/// The policy for requests of long runs: decorrelated pauses from 200 ms to 30 s.
[[nodiscard]] constexpr retry_policy patient_requests(std::chrono::nanoseconds patience,
                                                      unsigned attempts = 1) noexcept {
  return {.attempts = attempts,
          .pause = std::chrono::milliseconds(200),
          .longest = std::chrono::seconds(30),
          .jitter = retry_jitter::decorrelated,
          .patience = patience};
}

/// The policy for the requests of a larger call, such as the parts of an upload: seven retries, in
/// 15 s on average.
inline constexpr retry_policy patient_parts{.attempts = 8,
                                            .pause = std::chrono::milliseconds(250),
                                            .longest = std::chrono::minutes(1),
                                            .jitter = retry_jitter::decorrelated};

/// Whether a retry can help: for failures of the network and damaged data, but not for wrong
/// arguments and permanent errors.
[[nodiscard]] bool is_retryable(const std::error_code& failure) noexcept;

/// Whether the error is transient: the store or the network failed and may work again later.
/// `errc::unavailable`, or a code of another category with the same meaning, such as the system's
/// for a refused connection. Unknown codes are not transient.
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
