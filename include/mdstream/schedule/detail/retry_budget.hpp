#pragma once

/// Bounds the repetitions of calls that have not succeeded, so that a store that is out of order is
/// not asked many times as often as one that works. Pure.

#include <algorithm>

namespace mdstream::inline v0::detail {

/// A call that succeeds returns what its repetitions took and earns a part of one more, up to a
/// capacity that is full at first: however many calls are refused at first, those that pass in the
/// end cost nothing. Not thread-safe.
class retry_budget {
 public:
  explicit retry_budget(double capacity = 100, double earned_by_success = 0.5);

  /// For a store of which a hundred requests are under way at a time: each may have to wait out the
  /// same few seconds.
  [[nodiscard]] static retry_budget of_many() { return retry_budget(1000); }

  void succeeded() { give_back(earned_); }

  /// Returns repetitions that led on.
  void give_back(double repetitions) { tokens_ = std::min(capacity_, tokens_ + repetitions); }

  /// Takes one repetition; false when there is none left.
  [[nodiscard]] bool try_take();

 private:
  double capacity_;
  double earned_;
  double tokens_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/retry_budget.ipp>
#endif
