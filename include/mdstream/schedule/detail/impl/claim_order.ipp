#pragma once

#include <mdstream/schedule/detail/claim_order.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE claim_order::ticket claim_order::ask() {
  under_way_.emplace_hint(under_way_.end(), ++last_, false);
  return last_;
}

MDSTREAM_INLINE void claim_order::refuse(ticket of) noexcept {
  for (auto at = under_way_.upper_bound(of); at != under_way_.end(); ++at) at->second = true;
}

MDSTREAM_INLINE bool claim_order::is_refused(ticket of) const noexcept {
  const auto at = under_way_.find(of);
  return at != under_way_.end() && at->second;
}

}  // namespace mdstream::inline v0::detail
