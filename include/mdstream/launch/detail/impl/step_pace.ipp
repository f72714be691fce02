#pragma once

#include <mdstream/launch/detail/step_pace.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::launch::detail {

MDSTREAM_INLINE void step_pace::step(time now) noexcept {
  resume(now);
  if (steps_ != 0) took_[(steps_ - 1) % took_.size()] = taken(now);
  ++steps_;
  begin_ = now;
}

MDSTREAM_INLINE void step_pace::pause(time now, time most) noexcept {
  if (paused_) return;
  paused_ = {.most = most, .of_step = taken(now)};
  begin_ = now;
}

MDSTREAM_INLINE void step_pace::resume(time now) noexcept {
  if (!paused_) return;
  begin_ = now - paused_->of_step;
  paused_.reset();
}

MDSTREAM_INLINE bool step_pace::overdue(time now) {
  const time gap = now - asked_.value_or(now);
  asked_ = now;
  if (steps_ == 0) return false;
  // What began since then has waited less than the process has.
  if (gap > 2 * tick()) begin_ = std::min(now, begin_ + (gap - tick()));
  return taken(now) > (paused_ ? paused_->most : limit());
}

MDSTREAM_INLINE step_pace::time step_pace::limit() const {
  const std::optional<time> typical = median();
  if (!typical) return least_;
  const double most = factor_ * static_cast<double>(typical->count());
  // Beyond that it is no number of nanoseconds.
  if (!(most < static_cast<double>(time::max().count()))) return time::max();
  return std::max(least_, time(static_cast<time::rep>(most)));
}

MDSTREAM_INLINE std::optional<step_pace::time> step_pace::median() const {
  if (steps_ < 2) return std::nullopt;
  auto sorted = took_;
  const auto count =
      static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(steps_ - 1, sorted.size()));
  const auto middle = sorted.begin() + count / 2;
  std::nth_element(sorted.begin(), middle, sorted.begin() + count);
  return *middle;
}

}  // namespace mdstream::inline v0::launch::detail
