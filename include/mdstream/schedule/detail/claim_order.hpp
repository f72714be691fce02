#pragma once

/// Which claim may take room that another one was refused. Pure.

#include <cstdint>
#include <map>

namespace mdstream::inline v0::detail {

/// Of requests that are under way, those that were asked for later than a refused one are refused
/// as well: one of them would take the place that the other one gets a little later, and be the
/// first to go again for it. What was asked for before goes on, and so does what is asked for after
/// the refusal, when the caller knows of it. Not thread-safe. Memory: for each request under way.
class claim_order {
 public:
  /// The place of a request in the order of asking.
  using ticket = std::uint64_t;

  /// A request is under way from here on, until it leaves. O(1), amortized.
  [[nodiscard]] ticket ask();
  /// Its way is over. O(log n) of those under way.
  void leave(ticket of) noexcept { under_way_.erase(of); }

  /// There was no room for it. Linear in those behind it.
  void refuse(ticket of) noexcept;

  /// Whether one before it was refused while it was under way. O(log n).
  [[nodiscard]] bool is_refused(ticket of) const noexcept;

 private:
  std::map<ticket, bool> under_way_;
  ticket last_ = 0;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/schedule/detail/impl/claim_order.ipp>
#endif
