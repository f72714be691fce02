#pragma once

#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/adaptive_limit.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE adaptive_limit::adaptive_limit(adaptive_limits limits)
    : least_(static_cast<double>(std::max<std::size_t>(limits.least, 1))),
      most_(std::max(static_cast<double>(limits.most), least_)),
      limit_(most_),
      knee_(most_) {}

MDSTREAM_INLINE void adaptive_limit::ended(ticket begun, const std::error_code& failure) noexcept {
  if (failure == errc::unavailable) {
    if (begun.cut == cuts_) cut();
  } else if (!failure) {
    rises_ = true;
    limit_ = std::min(most_, limit_ + (limit_ < knee_ ? 1.0 : 1.0 / limit_));
  }
}

MDSTREAM_INLINE void adaptive_limit::cut() noexcept {
  ++cuts_;
  // A series of failures says nothing more about where the trouble begins.
  if (rises_) knee_ = std::max(limit_ / 2, least_);
  rises_ = false;
  limit_ = std::max(limit_ / 2, least_);
}

}  // namespace mdstream::inline v0::detail
