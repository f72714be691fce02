#pragma once

/// An adapter that limits the rate of a store's calls.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/any_async_store.hpp>

namespace mdstream::inline v0 {

/// The rates of `throttled`.
struct throttle_rates {
  double bytes_per_second = 0;  ///< of reads and writes; 0: no limit
  double calls_per_second = 0;  ///< 0: no limit
  double burst_seconds = 0.1;   ///< the amount that may pass at once after a pause
};

/// Delays calls of a store to stay below the rates. A read counts with the bytes that it asks for,
/// a write with those that it sends. The runtime has to outlive the calls.
///
///     const mds::throttled slow(threads, store, {.bytes_per_second = 50e6});
class throttled final : public any_async_store {
 public:
  throttled(runtime& threads, any_async_store inner, throttle_rates rates);
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/throttled.ipp>
#endif
