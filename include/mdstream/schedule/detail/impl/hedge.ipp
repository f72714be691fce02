#pragma once

#include <mdstream/schedule/hedge.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0 {

MDSTREAM_INLINE void hedge_timer::ended(time took) {
  times_[next_++ % times_.size()] = took;
  extra_ = std::min(extra_ + policy_.most_extra, most_saved);
  if (next_ % 32 == 0) learn();
}

MDSTREAM_INLINE bool hedge_timer::try_second() noexcept {
  if (extra_ < 1) return false;
  extra_ -= 1;
  return true;
}

MDSTREAM_INLINE void hedge_timer::learn() {
  auto sorted = times_;
  const std::size_t count = std::min(next_, sorted.size());
  const auto rank = static_cast<std::size_t>(static_cast<double>(count) *
                                             std::clamp(1 - policy_.slowest, 0.0, 1.0));
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(rank, count - 1));
  std::nth_element(sorted.begin(), at, sorted.begin() + static_cast<std::ptrdiff_t>(count));
  patience_ = std::max(*at, policy_.least);
}

}  // namespace mdstream::inline v0
