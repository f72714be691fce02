#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/schedule/retry.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace mdstream::inline v0 {

MDSTREAM_INLINE bool is_retryable(const std::error_code& failure) noexcept {
  if (failure.category() != mdstream_category()) return true;
  switch (static_cast<errc>(failure.value())) {
    case errc::corrupt:
    case errc::io_error:
    case errc::out_of_memory:
    case errc::unavailable: return true;
    default: return false;
  }
}

MDSTREAM_INLINE bool is_transient(const std::error_code& failure) noexcept {
  constexpr std::array passing{
      std::errc::connection_aborted,  std::errc::connection_refused,
      std::errc::connection_reset,    std::errc::broken_pipe,
      std::errc::timed_out,           std::errc::host_unreachable,
      std::errc::network_down,        std::errc::network_reset,
      std::errc::network_unreachable, std::errc::resource_unavailable_try_again,
      std::errc::too_many_files_open, std::errc::too_many_files_open_in_system};
  return failure == errc::unavailable ||
         std::ranges::any_of(passing, [&](std::errc each) { return failure == each; });
}

MDSTREAM_INLINE std::optional<std::chrono::nanoseconds> pause_before_retry(
    const retry_policy& policy, unsigned failed, const std::error_code& failure, double chance,
    std::optional<std::chrono::milliseconds> asked, std::chrono::nanoseconds before,
    std::chrono::nanoseconds futile) noexcept {
  const bool waits = policy.patience.count() > 0 && is_transient(failure);
  if (waits ? futile >= policy.patience : failed >= policy.attempts || !is_retryable(failure))
    return std::nullopt;
  const double pause = static_cast<double>(policy.pause.count());
  const double last = std::max(static_cast<double>(before.count()), pause);
  const double wanted =
      policy.jitter == retry_jitter::decorrelated
          ? pause + chance * (3 * last - pause)
          : pause * (std::ldexp(1.0, static_cast<int>(std::min(failed, 64U)) - 1) + 0.5 * chance);
  const double least =
      asked ? static_cast<double>(std::chrono::nanoseconds(*asked).count()) + 0.5 * pause * chance
            : 0.0;
  const double longest = static_cast<double>(policy.longest.count());
  const double bounded = waits ? std::min(std::max(std::min(wanted, longest), least),
                                          static_cast<double>((policy.patience - futile).count()))
                               : std::min(std::max(wanted, least), longest);
  return std::chrono::nanoseconds(static_cast<std::chrono::nanoseconds::rep>(bounded));
}

}  // namespace mdstream::inline v0
