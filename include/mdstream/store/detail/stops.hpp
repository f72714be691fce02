#pragma once

/// Stops that are passed on to calls within a call.

#include <stop_token>

namespace mdstream::inline v0::detail {

/// For a stop callback of a call: stops the calls that it makes. They may complete in this, and
/// with them the call that has the callback, so what is stopped is held until both have heard.
struct passes_stop {
  std::stop_source first;
  std::stop_source second{std::nostopstate};

  void operator()() const;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/stops.ipp>
#endif
