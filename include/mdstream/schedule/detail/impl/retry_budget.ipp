#pragma once

#include <mdstream/schedule/detail/retry_budget.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE retry_budget::retry_budget(double capacity, double earned_by_success)
    : capacity_(capacity), earned_(earned_by_success), tokens_(capacity) {}

MDSTREAM_INLINE bool retry_budget::try_take() {
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

}  // namespace mdstream::inline v0::detail
