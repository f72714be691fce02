#pragma once

#include <mdstream/stream/loader.hpp>
#include <mdstream/version.hpp>

#include <thread>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void ends_anywhere::operator()(batch_engine* gone) const {
  if (!gone->threads().runs_here())
    delete gone;
  else if (gone->owns_threads())
    std::thread([gone] { delete gone; }).detach();
  else
    gone->async_end([gone] { delete gone; });
}

}  // namespace mdstream::inline v0::detail
