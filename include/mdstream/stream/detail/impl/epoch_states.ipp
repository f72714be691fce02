#pragma once

#include <mdstream/stream/detail/epoch_states.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE epoch_action epoch_states::on(epoch_event what, readiness wish) noexcept {
  using enum epoch_state;
  const bool steps = at == stepping || at == awaited;
  if (at == closed) return epoch_action::none;
  switch (what) {
    case epoch_event::begin:
      if (at == none) at = resting;
      return epoch_action::none;
    case epoch_event::want:
      if ((at != resting && at != stepping) || wish <= wanted) return epoch_action::none;
      wanted = wish;
      return at == resting ? epoch_action::post : epoch_action::none;
    case epoch_event::go_on:
      if (at != resting || reached >= wanted) return epoch_action::none;
      at = stepping;
      return epoch_action::step;
    case epoch_event::stepped: return step_over(next_step());
    case epoch_event::failed: return step_over(readiness::built);  // it is not tried again
    case epoch_event::take:
      if (steps) {
        at = awaited;
        return epoch_action::wait;
      }
      if (at != resting) return epoch_action::none;
      at = none;
      reached = wanted = readiness::none;
      return epoch_action::hand_over;
    case epoch_event::leave: ++leaving; return epoch_action::none;
    case epoch_event::gone:
      if (leaving == 0 || --leaving != 0) return epoch_action::none;
      if (at != closing) return epoch_action::announce;
      at = closed;
      return epoch_action::finish;
    case epoch_event::close:
      if (steps) at = stopping;
      return at == none || at == resting ? leave_all() : epoch_action::none;
  }
  return epoch_action::none;
}

MDSTREAM_INLINE epoch_action epoch_states::step_over(readiness now) noexcept {
  using enum epoch_state;
  if (at == stopping) return leave_all();
  if (at != stepping && at != awaited) return epoch_action::none;
  reached = now;
  wanted = std::max(wanted, now);
  if (at == stepping && reached < wanted) return epoch_action::step;
  return std::exchange(at, resting) == awaited ? epoch_action::wake : epoch_action::none;
}

MDSTREAM_INLINE epoch_action epoch_states::leave_all() noexcept {
  at = epoch_state::closing;
  ++leaving;
  return epoch_action::leave_all;
}

}  // namespace mdstream::inline v0::detail
