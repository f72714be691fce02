#pragma once

/// The way of a cache's requests to room for their shards.

#include <mdstream/async/runtime.hpp>
#include <mdstream/async/strand.hpp>
#include <mdstream/cache/cache_directory.hpp>
#include <mdstream/core/unique_function.hpp>
#include <mdstream/schedule/claim_order.hpp>
#include <mdstream/schedule/eviction.hpp>

#include <mutex>
#include <utility>

namespace mdstream::inline v0 {

/// What is wanted ahead under a limit claims its room in the order in which it was asked for, and
/// none once one before it was refused (`claim_order`). What is wanted now waits for nobody.
/// Thread-safe.
class claims_in_order {
 public:
  using turn = claim_order::turn;

  /// `threads` has to outlive this.
  explicit claims_in_order(runtime& threads) : threads_(threads), in_turn_(threads) {}

  /// A request begins, of whatever urgency: that may change on its way.
  [[nodiscard]] turn ask() {
    const std::lock_guard lock(mutex_);
    return order_.ask();
  }
  /// It ends.
  void leave(turn of) {
    const std::lock_guard lock(mutex_);
    order_.leave(of);
  }

  /// Runs a step on the pool, in turn or at once. It must not throw.
  void post(bool in_turn, unique_function<void()> step) {
    in_turn ? in_turn_.post(std::move(step)) : threads_.post(std::move(step));
  }

  /// What `claim_room` returns; it is not called for what is refused. Of requests whose limit came
  /// between two steps one may be claiming while another is refused, which it does not hear of.
  template <class Claim>
  [[nodiscard]] claim_result claim(turn of, urgency why, const Claim& claim_room) {
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
  [[nodiscard]] bool is_refused(turn of) const {
    const std::lock_guard lock(mutex_);
    return order_.is_refused(of);
  }

  runtime& threads_;
  strand in_turn_;
  mutable std::mutex mutex_;
  claim_order order_;
};

}  // namespace mdstream::inline v0
