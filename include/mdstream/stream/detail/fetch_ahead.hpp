#pragma once

/// The shards of the batches that a rank reads next: fetched in time, held, and given up.

#include <mdstream/async/detail/work_count.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/schedule/detail/fetch_window.hpp>
#include <mdstream/stream/detail/delivery_limits.hpp>
#include <mdstream/stream/detail/held_shards.hpp>
#include <mdstream/stream/detail/lookahead.hpp>
#include <mdstream/stream/detail/shard_supply.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <vector>

namespace mdstream::inline v0::detail {

/// A request to the cache, which writes its diagnostics here.
struct shard_request {
  std::uint32_t shard;
  diagnostics where{};
};

/// The order of an epoch as far as it was read, and what was done about its shards: a part of
/// `delivery`. All but `outlook` is called under its lock, or, to read the order and what is held,
/// by the thread that asks for batches, which alone changes these from the first batch on.
/// Functions that take the lock give it up in between, because the cache may complete at once.
///
/// Without a cache limit shards that are here are held from the time they are wanted.
class fetch_ahead {
 public:
  using lock_type = std::unique_lock<std::mutex>;
  /// Says which shards others need before; see `delivery::fetch_first`.
  using reservation = std::function<bool(std::uint32_t)>;

  /// No fetch begins once `stop` was requested; each is counted in `under_way`.
  fetch_ahead(detail::shard_supply& supply, std::mutex& mutex, work_count& under_way,
              std::stop_token stop, lookahead order, const delivery_limits& limits);

  /// Reads the order of the batches whose shards are fetched, and of one in any case.
  void read();

  /// The same, and all that eviction goes by: before a batch waits for it.
  void read_to_horizon();

  /// As `read`, then asks for their shards, but for those of which `needed_before` says so.
  void look(lock_type& lock, const reservation* needed_before = nullptr);

  /// Goes on with that where it waits for room.
  void go_on(lock_type& lock);

  /// Leaves the first batch behind. What is no longer held goes to `released`, to be let go without
  /// the lock: the last reference may unmap.
  void pop(std::vector<shard_ref>& released);

  /// Asks for what is wanted, as far as requests and room reach.
  void fetch(lock_type& lock);

  [[nodiscard]] bool holds(std::uint32_t shard) const noexcept { return held_.holds(shard); }
  /// Throws where the shard is no shard. Precondition: it is not held.
  void hold(std::uint32_t shard, shard_ref ref);
  void let_go(std::uint32_t shard, std::vector<shard_ref>& released) {
    held_.let_go(shard, released);
  }

  /// Reads other shards in place of this one. False where none could take its place. All that was
  /// wanted is wanted anew by the next `look`.
  [[nodiscard]] bool exclude(std::uint32_t shard);

  [[nodiscard]] const lookahead& order() const noexcept { return order_; }
  [[nodiscard]] const upcoming_batch& front() const noexcept { return order_.front(); }
  /// Precondition of both: it is held.
  [[nodiscard]] const shard_samples& shard(std::uint32_t number) const noexcept {
    return held_.samples(number);
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
  [[nodiscard]] std::uint64_t horizon() const { return supply_.limited() ? limits_.horizon : 0; }

  void want_ahead(const reservation* needed_before);

  void want(std::uint32_t shard, const reservation* needed_before);

  void look_out() noexcept;

  /// Without the lock, on any thread. What failed, other than for room, is tried again and
  /// reported when a batch needs it.
  void fetched(std::uint32_t shard, std::error_code failure);

  detail::shard_supply& supply_;
  std::mutex& mutex_;
  work_count& under_way_;
  std::stop_token stop_;
  delivery_limits limits_;
  lookahead order_;
  fetch_window window_;
  held_shards held_;
  std::size_t wanted_batches_ = 0;  // batches ahead that asked for their shards
  std::uint64_t wanted_samples_ = 0;
  std::atomic<epoch_outlook> outlook_{epoch_outlook::far};
  bool fetching_ = false;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/fetch_ahead.ipp>
#endif
