#pragma once

/// When a training loop has stood still for too long. Pure: the caller brings the clock.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace mdstream::inline v0::launch::detail {

/// Learns from the last steps how long one takes. Times are those of any clock that never goes
/// back. Not thread-safe. Complexity: O(1), `limit` and `overdue` sort 64 numbers.
class step_pace {
 public:
  using time = std::chrono::nanoseconds;

  /// A step may take `factor` times the median, and `least` in any case.
  step_pace(double factor, time least) noexcept : factor_(factor), least_(least) {}

  /// A step has ended. Ends a pause, too.
  void step(time now) noexcept;
  /// Something else begins, which may take `most`. A further pause within it changes nothing.
  void pause(time now, time most) noexcept;
  /// It has ended, and does not count for the step at hand.
  void resume(time now) noexcept;

  /// Whether the step or pause at hand takes longer than it may; never before the first step has
  /// ended. To be asked once a `tick`: where that was much longer ago, the whole process did not
  /// run (a debugger, a suspended job), and the time does not count.
  [[nodiscard]] bool overdue(time now);
  [[nodiscard]] time tick() const noexcept { return least_ / 8; }

  /// What a step may take.
  [[nodiscard]] time limit() const;
  /// The middle one of the last steps' times; none before the second step has ended.
  [[nodiscard]] std::optional<time> median() const;
  /// How long the step or pause at hand has taken.
  [[nodiscard]] time taken(time now) const noexcept { return now - begin_; }
  [[nodiscard]] bool paused() const noexcept { return paused_.has_value(); }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  struct pausing {
    time most;
    time of_step;  // what the step at hand had taken
  };

  double factor_;
  time least_;
  std::array<time, 64> took_{};
  std::uint64_t steps_ = 0;  // the first one has no known beginning
  time begin_{};             // of the step or pause at hand
  std::optional<pausing> paused_;
  std::optional<time> asked_;
};

}  // namespace mdstream::inline v0::launch::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/launch/detail/impl/step_pace.ipp>
#endif
