#pragma once

#include <mdstream/schedule/detail/line_limit.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE line_limit::line_limit(std::size_t most, std::size_t first, std::size_t least)
    : most_(std::max<std::size_t>(most, 1)),
      least_(std::min(std::max<std::size_t>(least, 1), most_)),
      limit_(std::clamp(first, least_, most_)),
      base_limit_(limit_) {}

MDSTREAM_INLINE void line_limit::came(std::uint64_t bytes, time now, bool bound) noexcept {
  if (!begun_ || !bound) return begin(now);
  bytes_ += bytes;
  const time passed = now - window_;
  if (passed < settling) {
    bytes_ = 0;  // connections that were just made are not at their rate
  } else if (passed >= settling + measuring) {
    const double seconds = std::chrono::duration<double>(passed - settling).count();
    measured(static_cast<double>(bytes_) / seconds);
    begin(now);
  }
}

MDSTREAM_INLINE void line_limit::begin(time now) noexcept {
  begun_ = true;
  window_ = now;
  bytes_ = 0;
}

MDSTREAM_INLINE void line_limit::measured(double rate) noexcept {
  switch (step_) {
    case step::rests:
      if (rate > 2 * rate_ || rate < rate_ / 2) rest_ = 0, next_rest_ = shortest_rest;
      rate_ = rate;
      if (rest_ > 0)
        --rest_;
      else if (limit_ < most_)
        attempt(step::grows);
      else
        attempt(step::shrinks);
      break;
    case step::grows:
      if (rate < 1.2 * rate_) {
        limit_ = base_limit_;
        attempt(step::shrinks);
      } else if (keep(rate), limit_ < most_) {
        attempt(step::grows);
      } else {
        rest();
      }
      break;
    case step::shrinks:
      if (rate < 0.9 * rate_) {
        limit_ = base_limit_;
        rest();
      } else if (keep(rate), limit_ > least_) {
        attempt(step::shrinks);
      } else {
        rest();
      }
      break;
  }
}

MDSTREAM_INLINE void line_limit::keep(double rate) noexcept {
  rate_ = std::max(rate, step_ == step::shrinks ? rate_ : 0.0);
  base_limit_ = limit_;
  next_rest_ = shortest_rest;
}

MDSTREAM_INLINE void line_limit::attempt(step what) noexcept {
  base_limit_ = limit_;
  limit_ = what == step::grows ? std::min(2 * limit_, most_) : std::max(limit_ / 2, least_);
  if (limit_ == base_limit_) return rest();
  step_ = what;
}

MDSTREAM_INLINE void line_limit::rest() noexcept {
  step_ = step::rests;
  rest_ = next_rest_;
  next_rest_ = std::min(2 * next_rest_, longest_rest);
}

}  // namespace mdstream::inline v0::detail
