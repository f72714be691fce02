#pragma once

/// Asks a second time where an answer takes unusually long.

#include <mdstream/async/runtime.hpp>
#include <mdstream/schedule/hedge.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0 {

/// A store whose slowest sizes and reads are asked for a second time, as `hedge_policy` says; the
/// first answer that is no failure counts, and the other call is stopped. The second read has
/// memory of its own, so reads above `most_bytes` are asked once. Streams, writes, listings and
/// removals pass. The runtime has to outlive the calls.
class hedged final : public any_async_store {
 public:
  hedged(runtime& threads, any_async_store inner, hedge_policy policy = {},
         std::size_t most_bytes = std::size_t{8} << 20);

  /// Second calls so far.
  [[nodiscard]] std::uint64_t seconds() const;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/hedged.ipp>
#endif
