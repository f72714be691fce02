#pragma once

/// An adapter that sends a second request if an answer takes unusually long.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/hedge.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0 {

/// Sends a second request for the slowest sizes and reads, as `hedge_policy` says. The first good
/// answer counts, and the other call is stopped. The second read needs its own memory, so reads
/// above `most_bytes` are sent once. Streams, writes, listings and removals are passed on. The
/// runtime has to outlive the calls, and with them the one that was stopped, which may end after
/// the answer: if `inner` works on another runtime, that one has to end first.
///
///     const mds::hedged quick(threads, store, {.slowest = 0.01});
class hedged final : public any_async_store {
 public:
  hedged(runtime& threads, any_async_store inner, hedge_policy policy = {},
         std::size_t most_bytes = std::size_t{8} << 20);

  /// The number of second requests so far.
  [[nodiscard]] std::uint64_t seconds() const;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hedged.ipp>
#endif
