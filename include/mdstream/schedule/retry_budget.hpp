#pragma once

/// Keeps repetitions in proportion to what succeeds, so that a store that fails is not asked twice
/// as often as one that works. Pure.

#include <algorithm>

namespace mdstream::inline v0 {

/// Every success earns a part of a repetition, up to a capacity that is full at first. Not
/// thread-safe.
class retry_budget {
 public:
  explicit retry_budget(double capacity = 100, double earned_by_success = 0.5)
      : capacity_(capacity), earned_(earned_by_success), tokens_(capacity) {}

  void succeeded() { tokens_ = std::min(capacity_, tokens_ + earned_); }

  /// Takes one repetition; false when there is none left.
  [[nodiscard]] bool try_take() {
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  double capacity_;
  double earned_;
  double tokens_;
};

}  // namespace mdstream::inline v0
