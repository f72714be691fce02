#pragma once

/// Who may take room that another one was refused. Pure.

#include <mdstream/version.hpp>

#include <cstdint>
#include <map>

namespace mdstream::inline v0 {

/// Of requests that are under way, those that were asked for later than a refused one are refused
/// as well: one of them would take the place that the other one gets a little later, and be the
/// first to go again for it. What was asked for before goes on, and so does what is asked for after
/// the refusal, when whoever asks knows of it. Not thread-safe. Memory: for each request under way.
class claim_order {
 public:
  /// The place of a request in the order of asking.
  using turn = std::uint64_t;

  /// A request is under way from here on, until it leaves. O(1), amortized.
  [[nodiscard]] turn ask() {
    under_way_.emplace_hint(under_way_.end(), ++last_, false);
    return last_;
  }
  /// Its way is over. O(log n) of those under way.
  void leave(turn of) noexcept { under_way_.erase(of); }

  /// There was no room for it. Linear in those behind it.
  void refuse(turn of) noexcept {
    for (auto at = under_way_.upper_bound(of); at != under_way_.end(); ++at) at->second = true;
  }

  /// Whether one before it was refused while it was under way. O(log n).
  [[nodiscard]] bool is_refused(turn of) const noexcept {
    const auto at = under_way_.find(of);
    return at != under_way_.end() && at->second;
  }

 private:
  std::map<turn, bool> under_way_;
  turn last_ = 0;
};

}  // namespace mdstream::inline v0
