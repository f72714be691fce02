#pragma once

#include <mdstream/cache/detail/claims_in_order.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE claims_in_order::ticket claims_in_order::ask() {
  const std::lock_guard lock(mutex_);
  return order_.ask();
}

MDSTREAM_INLINE void claims_in_order::leave(ticket of) {
  const std::lock_guard lock(mutex_);
  order_.leave(of);
}

MDSTREAM_INLINE void claims_in_order::post(bool in_order, unique_function<void()> step) {
  in_order ? in_order_.post(std::move(step)) : threads_.post(std::move(step));
}

MDSTREAM_INLINE bool claims_in_order::is_refused(ticket of) const {
  const std::lock_guard lock(mutex_);
  return order_.is_refused(of);
}

MDSTREAM_INLINE std::stop_token waits_for_room::wait(claim_order::ticket of) {
  const std::lock_guard lock(mutex_);
  return waiting_[of].get_token();
}

MDSTREAM_INLINE void waits_for_room::leave(claim_order::ticket of) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(of);
}

MDSTREAM_INLINE void waits_for_room::wake_first() {
  std::stop_source first(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
    first = std::move(waiting_.extract(waiting_.begin()).mapped());
  }
  first.request_stop();
}

MDSTREAM_INLINE void waits_for_room::wake_all() {
  std::map<claim_order::ticket, std::stop_source> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(waiting_);
  }
  for (auto& [ticket, each] : all) each.request_stop();
}

}  // namespace mdstream::inline v0::detail
