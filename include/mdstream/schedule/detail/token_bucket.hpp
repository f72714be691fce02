#pragma once

/// How long to wait so that a rate is kept. Pure: the caller brings the clock.

#include <chrono>

namespace mdstream::inline v0::detail {

/// A rate with a burst. Amounts are promised in the order in which they are asked for: each one
/// waits for those before it. Not thread-safe.
class token_bucket {
 public:
  using time = std::chrono::nanoseconds;  ///< since any fixed moment; never runs backwards

  /// `per_second` > 0 on the average, up to `burst` at once after a pause.
  token_bucket(double per_second, double burst);

  /// Takes `amount` at `now`; returns how long its user has to wait before it is due. What is
  /// larger than the burst is let through too, and those after it wait for all of it.
  [[nodiscard]] time take(double amount, time now);

 private:
  double rate_;  // a nanosecond
  double burst_;
  double tokens_;
  time last_{0};
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/token_bucket.ipp>
#endif
