#pragma once

#include <mdstream/store/detail/stops.hpp>
#include <mdstream/version.hpp>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void passes_stop::operator()() const {
  std::stop_source one = first, other = second;
  one.request_stop();
  other.request_stop();
}

}  // namespace mdstream::inline v0::detail
