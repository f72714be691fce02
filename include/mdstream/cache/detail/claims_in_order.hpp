#pragma once

/// The way of a cache's requests to room for their shards.

#include <mdstream/async/detail/strand.hpp>
#include <mdstream/async/runtime.hpp>
#include <mdstream/cache/detail/cache_directory.hpp>
#include <mdstream/core/detail/unique_function.hpp>
#include <mdstream/schedule/detail/claim_order.hpp>
#include <mdstream/schedule/detail/eviction.hpp>

#include <map>
#include <mutex>
#include <stop_token>

namespace mdstream::inline v0::detail {

/// What is wanted ahead under a limit claims its room in the order in which it was asked for, and
/// none once one before it was refused (`claim_order`). What is wanted now waits for nobody.
/// Thread-safe.
class claims_in_order {
 public:
  using ticket = claim_order::ticket;

  /// `threads` has to outlive this.
  explicit claims_in_order(runtime& threads) : threads_(threads), in_order_(threads) {}

  /// A request begins, of whatever urgency: that may change on its way.
  [[nodiscard]] ticket ask();
  /// It ends.
  void leave(ticket of);

  /// Runs a step on the pool, in the order of tickets or at once. It must not throw.
  void post(bool in_order, unique_function<void()> step);

  /// What `claim_room` returns; it is not called for what is refused. Of requests whose limit came
  /// between two steps one may be claiming while another is refused, which it does not hear of.
  template <class Claim>
  [[nodiscard]] claim_result claim(ticket of, urgency why, const Claim& claim_room) {
    if (why == urgency::now) return claim_room();
    if (is_refused(of)) return claim_result::no_room;
    const claim_result result = claim_room();
    if (result == claim_result::no_room) {
      const std::lock_guard lock(mutex_);
      order_.refuse(of);
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_refused(ticket of) const;

  runtime& threads_;
  strand in_order_;
  mutable std::mutex mutex_;
  claim_order order_;
};

/// The requests of this process that found no room and wait a while before they look again; when
/// something gives room back, the one that was asked for first looks at once. Thread-safe.
class waits_for_room {
 public:
  /// A token that is stopped when this request is to look again. Until `leave`.
  [[nodiscard]] std::stop_token wait(claim_order::ticket of);
  void leave(claim_order::ticket of);
  void wake_first();
  void wake_all();

 private:
  std::mutex mutex_;
  std::map<claim_order::ticket, std::stop_source> waiting_;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/claims_in_order.ipp>
#endif
