#pragma once

#include <mdstream/schedule/detail/trouble.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE bool trouble_log::failed(time now) noexcept {
  if (told_ && now - *told_ < every_) return false;
  told_ = now;
  return true;
}

}  // namespace mdstream::inline v0::detail
