#pragma once

/// When a call that takes long is worth a second one. Pure: the caller brings the clock.

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

namespace mdstream::inline v0 {

/// When a slow call gets a second one beside it.
struct hedge_policy {
  double slowest = 0.02;     ///< part of the calls that get a second one
  double most_extra = 0.05;  ///< second calls, as a part of all: a store that slows down altogether
                             ///< is not asked twice
  std::chrono::nanoseconds least = std::chrono::milliseconds(5);  ///< never before that
};

/// Learns from the last 128 calls how long the slowest part of them took. Not thread-safe.
/// Complexity: each call O(1) but for one in 32, which sorts 128 numbers.
class hedge_timer {
 public:
  using time = std::chrono::nanoseconds;

  explicit hedge_timer(hedge_policy policy = {}) : policy_(policy) {}

  /// How long a call that begins now may take before a second one is sent; none as long as too few
  /// calls ended to tell.
  [[nodiscard]] std::optional<time> patience() const noexcept { return patience_; }

  /// A call that was sent first has ended well after `took`.
  void ended(time took);

  /// Takes leave to send a second call; false where there were too many.
  [[nodiscard]] bool try_second() noexcept;

 private:
  static constexpr double most_saved = 4;

  void learn();

  hedge_policy policy_;
  std::array<time, 128> times_{};
  std::size_t next_ = 0;
  double extra_ = 1;
  std::optional<time> patience_{};
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/hedge.ipp>
#endif
