#pragma once

#include <mdstream/stream/detail/fetch_ahead.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE fetch_ahead::fetch_ahead(detail::shard_supply& supply, std::mutex& mutex,
                                         work_count& under_way, std::stop_token stop,
                                         lookahead order, const delivery_limits& limits)
    : supply_(supply),
      mutex_(mutex),
      under_way_(under_way),
      stop_(std::move(stop)),
      limits_(limits),
      order_(std::move(order)),
      window_(supply.shards(), limits.requests),
      held_(supply.shards()) {}

MDSTREAM_INLINE void fetch_ahead::read() {
  while (order_.samples_ahead() < limits_.predownload || order_.empty())
    if (!order_.extend()) return;
}

MDSTREAM_INLINE void fetch_ahead::read_to_horizon() {
  read();
  while (order_.samples_ahead() < horizon() && order_.extend()) {
  }
}

MDSTREAM_INLINE void fetch_ahead::look(lock_type& lock, const reservation* needed_before) {
  read();
  while (!order_.empty() && order_.front().ids.empty()) {
    // Padding alone: the last global batches do not reach every rank.
    if (wanted_batches_ != 0) --wanted_batches_;
    order_.pop_front();
    read();
  }
  // Beyond what is fetched the order is only read for eviction: a little at a time, so that no
  // batch waits for it.
  for (int i = 0; i < 2 && order_.samples_ahead() < horizon(); ++i)
    if (!order_.extend()) break;
  want_ahead(needed_before);
  fetch(lock);
}

MDSTREAM_INLINE void fetch_ahead::go_on(lock_type& lock) {
  if (!window_.paused()) return;
  window_.moved();
  fetch(lock);
}

MDSTREAM_INLINE void fetch_ahead::pop(std::vector<shard_ref>& released) {
  const bool hold = !supply_.limited();
  const upcoming_batch& batch = order_.front();
  for (std::size_t i = 0; i < batch.own_needs; ++i) {
    const std::uint32_t shard = batch.needs[i].shard;
    if (window_.leave(shard) || !hold) held_.let_go(shard, released);
  }
  wanted_samples_ -= batch.ids.size();
  --wanted_batches_;
  order_.pop_front();
  window_.moved();
}

MDSTREAM_INLINE void fetch_ahead::fetch(lock_type& lock) {
  if (fetching_ || stop_.stop_requested()) return;  // the thread that fetches looks again
  fetching_ = true;
  window_.bound(std::min(limits_.requests, supply_.fetches_at_once()));
  while (const std::optional<std::uint32_t> shard = window_.next()) {
    under_way_.begin();
    lock.unlock();
    try {
      auto call = std::make_unique<shard_request>(*shard);
      diagnostics& where = call->where;
      supply_.async_prefetch(*shard, stop_, where,
                             [this, call = std::move(call)](std::error_code failure) {
                               fetched(call->shard, failure);
                             });
    } catch (const std::bad_alloc&) {
      fetched(*shard, errc::out_of_memory);
    }
    lock.lock();
  }
  fetching_ = false;
  look_out();
}

MDSTREAM_INLINE void fetch_ahead::hold(std::uint32_t shard, shard_ref ref) {
  const shard_samples samples = supply_.view(ref, shard);
  held_.hold(shard, std::move(ref), samples);
}

MDSTREAM_INLINE bool fetch_ahead::exclude(std::uint32_t shard) {
  const std::size_t wanted = std::exchange(wanted_batches_, 0);
  wanted_samples_ = 0;
  for (std::size_t i = 0; i < wanted; ++i)
    for (std::size_t k = 0; k < order_[i].own_needs; ++k)
      static_cast<void>(window_.leave(order_[i].needs[k].shard));
  try {
    order_.exclude(shard);
  } catch (const error&) {
    return false;
  }
  std::vector<shard_ref> released;
  held_.let_go(shard, released);
  return true;
}

MDSTREAM_INLINE void fetch_ahead::want_ahead(const reservation* needed_before) {
  while (wanted_batches_ < order_.batches()) {
    const upcoming_batch& batch = order_[wanted_batches_];
    if (wanted_batches_ != 0 && wanted_samples_ + batch.ids.size() > limits_.predownload) return;
    for (std::size_t i = 0; i < batch.own_needs; ++i) want(batch.needs[i].shard, needed_before);
    wanted_samples_ += batch.ids.size();
    ++wanted_batches_;
  }
}

MDSTREAM_INLINE void fetch_ahead::want(std::uint32_t shard, const reservation* needed_before) {
  if (!window_.want(shard)) return;
  if (held_.holds(shard)) return window_.found(shard);
  if (needed_before != nullptr && (*needed_before)(shard)) window_.found(shard);
  if (std::optional<shard_ref> here = supply_.try_acquire(shard)) {
    window_.found(shard);
    if (supply_.limited()) return;
    try {
      hold(shard, *std::move(here));
    } catch (...) {
      // It is no shard: the batch that needs it will say so.
    }
  }
}

MDSTREAM_INLINE void fetch_ahead::look_out() noexcept {
  const bool all = order_.unread() == 0 && wanted_batches_ == order_.batches();
  outlook_.store(all && window_.all_asked()                 ? epoch_outlook::all_fetched
                 : order_.unread() <= order_.of_epoch() / 8 ? epoch_outlook::near_end
                                                            : epoch_outlook::far,
                 std::memory_order_relaxed);
}

MDSTREAM_INLINE void fetch_ahead::fetched(std::uint32_t shard, std::error_code failure) {
  lock_type lock(mutex_);
  if (failure == errc::cache_too_small)
    window_.no_room(shard);
  else
    window_.fetched(shard);
  fetch(lock);
  lock.unlock();
  under_way_.end();
}

}  // namespace mdstream::inline v0::detail
