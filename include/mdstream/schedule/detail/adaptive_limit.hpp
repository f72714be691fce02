#pragma once

/// How many calls may be under way at a store that fails when it is asked too much. Pure: no clock,
/// no threads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace mdstream::inline v0::detail {

struct adaptive_limits {
  std::size_t least = 1;
  std::size_t most = 64;  ///< and where it begins
};

/// Additive increase, multiplicative decrease, as TCP's congestion window. A failure that tells of
/// an overload (`errc::unavailable`) halves the limit, once for all the calls that were under way
/// then. Successes raise it: doubling it with each round of calls up to half of where the trouble
/// began, by one with each round above. A store that fails altogether for a while is asked by
/// `least` calls at a time, and gets its rate back within about as many rounds as a call has to be
/// doubled, and then as many as half the limit. Not thread-safe.
class adaptive_limit {
 public:
  /// What a call has to remember until it ends.
  struct ticket {
    std::uint64_t cut = 0;
  };

  explicit adaptive_limit(adaptive_limits limits = {});

  /// Calls that may be under way.
  [[nodiscard]] std::size_t most() const noexcept { return static_cast<std::size_t>(limit_); }

  [[nodiscard]] ticket started() const noexcept { return {cuts_}; }

  void ended(ticket begun, const std::error_code& failure) noexcept;

 private:
  void cut() noexcept;

  double least_, most_;
  double limit_;
  double knee_;  // below it the limit doubles
  bool rises_ = true;
  std::uint64_t cuts_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/adaptive_limit.ipp>
#endif
