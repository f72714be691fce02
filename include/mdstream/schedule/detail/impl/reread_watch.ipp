#pragma once

#include <mdstream/schedule/detail/reread_watch.hpp>
#include <mdstream/version.hpp>

#include <algorithm>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void reread_watch::add(std::uint64_t needed, std::uint64_t read) noexcept {
  if (!asks_) {
    unneeded_ += read;
    unneeded_ -= std::min(unneeded_, needed + needed / little);  // what is more was in memory
    if (unneeded_ <= memory_) return;
    asks_ = true;
    needed_ = read_ = 0;
  } else {
    needed_ += needed;
    read_ += read;
    if (needed_ < memory_) return;
    asks_ = read_ > needed_ / rare;
    unneeded_ = needed_ = read_ = 0;
  }
}

}  // namespace mdstream::inline v0::detail
