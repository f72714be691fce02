#pragma once

#include <mdstream/codec/detail/entry_point.hpp>
#include <mdstream/version.hpp>

#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void entry_notes::place(std::uint64_t plain, std::uint64_t packed) {
  reached(plain);
  if (is_far(plain, packed)) best_ = entry_point{plain, packed, {}};
}

MDSTREAM_INLINE void entry_notes::reached(std::uint64_t plain) {
  if (plain <= wanted_) return;
  wanted_ = (plain - 1) / spacing_.plain * spacing_.plain + spacing_.plain;
  if (!best_) return;
  last_ = {best_->plain, best_->packed, {}};
  chosen_.push_back(*std::exchange(best_, std::nullopt));
}

MDSTREAM_INLINE std::vector<entry_point> entry_notes::take() { return std::exchange(chosen_, {}); }

}  // namespace mdstream::inline v0::detail
