#pragma once

/// Keeps a store's calls below a rate.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/any_async_store.hpp>

namespace mdstream::inline v0 {

/// How fast `throttled` lets calls pass.
struct throttle_rates {
  double bytes_per_second = 0;  ///< of reads and writes; 0: any
  double calls_per_second = 0;  ///< 0: any
  double burst_seconds = 0.1;   ///< what may come at once after a pause
};

/// A store whose calls wait until they are due. A read counts as what it asks for. The runtime has
/// to outlive the calls.
class throttled final : public any_async_store {
 public:
  throttled(runtime& threads, any_async_store inner, throttle_rates rates);
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/throttled.ipp>
#endif
