#pragma once

#include <mdstream/schedule/detail/token_bucket.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE token_bucket::token_bucket(double per_second, double burst)
    : rate_(per_second / 1e9), burst_(std::max(burst, 0.0)), tokens_(burst_) {}

MDSTREAM_INLINE token_bucket::time token_bucket::take(double amount, time now) {
  const double passed = static_cast<double>(std::max(now - last_, time(0)).count());
  last_ = std::max(last_, now);
  tokens_ = std::min(burst_, tokens_ + passed * rate_);
  const double missing = -tokens_;
  tokens_ -= amount;
  return missing <= 0 ? time(0) : time(static_cast<time::rep>(missing / rate_));
}

}  // namespace mdstream::inline v0::detail
