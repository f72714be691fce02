#pragma once

/// The shards of the batches that a rank reads next: fetched in time, held, and given up.

#include <mdstream/cache/slots.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/fetch_window.hpp>
#include <mdstream/stream/activity.hpp>
#include <mdstream/stream/delivery_limits.hpp>
#include <mdstream/stream/held_shards.hpp>
#include <mdstream/stream/lookahead.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <system_error>
#include <utility>
#include <vector>

namespace mdstream::inline v0 {

/// A request to the cache, which writes its diagnostics here.
struct shard_request {
  std::uint32_t shard;
  diagnostics where{};
};

/// The order of an epoch as far as it was read, and what was done about its shards. `Source`: as
/// that of `delivery`, whose part this is. All but `outlook` is called under its lock, or, to read
/// the order and what is held, by the thread that asks for batches, which alone changes these from
/// the first batch on. Functions that take the lock give it up in between, because the source may
/// complete at once.
///
/// Without a cache limit shards that are here are held from the time they are wanted.
template <class Source>
class fetch_ahead {
 public:
  using shard_view = decltype(std::declval<Source&>().view(shard_ref(), 0U));
  using lock_type = std::unique_lock<std::mutex>;
  /// Says which shards others need before; see `delivery::fetch_first`.
  using reservation = std::function<bool(std::uint32_t)>;

  /// No fetch begins once `stop` was requested; each is counted in `under_way`.
  fetch_ahead(Source& source, std::mutex& mutex, activity& under_way, std::stop_token stop,
              lookahead order, std::size_t shards, const delivery_limits& limits)
      : source_(source),
        mutex_(mutex),
        under_way_(under_way),
        stop_(std::move(stop)),
        limits_(limits),
        order_(std::move(order)),
        window_(shards, limits.requests),
        held_(shards) {}

  /// Reads the order of the batches whose shards are fetched, and of one in any case.
  void read() {
    while (order_.samples_ahead() < limits_.predownload || order_.empty())
      if (!order_.extend()) return;
  }

  /// The same, and all that eviction goes by: before a batch waits for it.
  void read_to_horizon() {
    read();
    while (order_.samples_ahead() < horizon() && order_.extend()) {
    }
  }

  /// As `read`, then asks for their shards, but for those of which `needed_before` says so.
  void look(lock_type& lock, const reservation* needed_before = nullptr) {
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

  /// Goes on with that where it waits for room.
  void go_on(lock_type& lock) {
    if (!window_.paused()) return;
    window_.moved();
    fetch(lock);
  }

  /// Leaves the first batch behind. What is no longer held goes to `released`, to be let go without
  /// the lock: the last reference may unmap.
  void pop(std::vector<shard_ref>& released) {
    const bool hold = !source_.cache().limited();
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

  /// Asks for what is wanted, as far as requests and room reach.
  void fetch(lock_type& lock) {
    if (fetching_ || stop_.stop_requested()) return;  // who fetches looks again before it ends
    fetching_ = true;
    window_.bound(std::min(limits_.requests, source_.cache().fetches_at_once()));
    while (const std::optional<std::uint32_t> shard = window_.next()) {
      under_way_.begin();
      lock.unlock();
      auto call = std::make_unique<shard_request>(*shard);
      diagnostics& where = call->where;
      source_.cache().async_prefetch(*shard, stop_, where,
                                     [this, call = std::move(call)](std::error_code failure) {
                                       fetched(call->shard, failure);
                                     });
      lock.lock();
    }
    fetching_ = false;
    look_out();
  }

  [[nodiscard]] bool holds(std::uint32_t shard) const noexcept { return held_.holds(shard); }
  /// Throws where the shard is no shard. Precondition: it is not held.
  void hold(std::uint32_t shard, shard_ref ref) {
    const shard_view view = source_.view(ref, shard);
    held_.hold(shard, std::move(ref), view);
  }
  void let_go(std::uint32_t shard, std::vector<shard_ref>& released) {
    held_.let_go(shard, released);
  }

  /// Reads other shards in place of this one. False where none could take its place. All that was
  /// wanted is wanted anew by the next `look`.
  [[nodiscard]] bool exclude(std::uint32_t shard) {
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

  [[nodiscard]] const lookahead& order() const noexcept { return order_; }
  [[nodiscard]] const upcoming_batch& front() const noexcept { return order_.front(); }
  /// Precondition of both: it is held.
  [[nodiscard]] const shard_view& shard(std::uint32_t number) const noexcept {
    return held_.view(number);
  }
  [[nodiscard]] const shard_ref& ref(std::uint32_t number) const noexcept {
    return held_.ref(number);
  }
  /// How much is left to read ahead. Any thread.
  [[nodiscard]] epoch_outlook outlook() const noexcept {
    return outlook_.load(std::memory_order_relaxed);
  }

 private:
  /// Samples ahead whose order is known.
  [[nodiscard]] std::uint64_t horizon() const {
    return source_.cache().limited() ? limits_.horizon : 0;
  }

  void want_ahead(const reservation* needed_before) {
    while (wanted_batches_ < order_.batches()) {
      const upcoming_batch& batch = order_[wanted_batches_];
      if (wanted_batches_ != 0 && wanted_samples_ + batch.ids.size() > limits_.predownload) return;
      for (std::size_t i = 0; i < batch.own_needs; ++i) want(batch.needs[i].shard, needed_before);
      wanted_samples_ += batch.ids.size();
      ++wanted_batches_;
    }
  }

  void want(std::uint32_t shard, const reservation* needed_before) {
    if (!window_.want(shard)) return;
    if (held_.holds(shard)) return window_.found(shard);
    if (needed_before != nullptr && (*needed_before)(shard)) window_.found(shard);
    if (std::optional<shard_ref> here = source_.cache().try_acquire(shard)) {
      window_.found(shard);
      if (source_.cache().limited()) return;
      try {
        hold(shard, *std::move(here));
      } catch (...) {
        // It is no shard: the batch that needs it will say so.
      }
    }
  }

  void look_out() noexcept {
    const bool all = order_.unread() == 0 && wanted_batches_ == order_.batches();
    outlook_.store(all && window_.all_asked()                 ? epoch_outlook::all_fetched
                   : order_.unread() <= order_.of_epoch() / 8 ? epoch_outlook::near_end
                                                              : epoch_outlook::far,
                   std::memory_order_relaxed);
  }

  /// Without the lock, on any thread. What failed, other than for room, is tried again and
  /// reported when a batch needs it.
  void fetched(std::uint32_t shard, std::error_code failure) {
    lock_type lock(mutex_);
    if (failure == errc::cache_too_small)
      window_.no_room(shard);
    else
      window_.fetched(shard);
    fetch(lock);
    under_way_.finish_one();
  }

  Source& source_;
  std::mutex& mutex_;
  activity& under_way_;
  std::stop_token stop_;
  delivery_limits limits_;
  lookahead order_;
  fetch_window window_;
  held_shards<shard_view> held_;
  std::size_t wanted_batches_ = 0;  // batches ahead that asked for their shards
  std::uint64_t wanted_samples_ = 0;
  std::atomic<epoch_outlook> outlook_{epoch_outlook::far};
  bool fetching_ = false;
};

}  // namespace mdstream::inline v0
