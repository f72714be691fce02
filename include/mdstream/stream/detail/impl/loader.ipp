#pragma once

#include <mdstream/async/detail/event.hpp>
#include <mdstream/stream/loader.hpp>
#include <mdstream/version.hpp>

#include <thread>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void ends_anywhere::operator()(batch_engine* gone) const {
  if (gone->threads().runs_here())  // must not wait for itself, nor end itself
    return gone->close([gone] {
      if (!gone->owns_threads()) return delete gone;
      std::thread([gone] { delete gone; }).detach();
    });
  one_time_event closed;
  gone->close([&closed] { closed.set(); });
  closed.wait();
  delete gone;
}

}  // namespace mdstream::inline v0::detail
