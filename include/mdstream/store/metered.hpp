#pragma once

/// An adapter that counts the calls of a store.

#include <mdstream/store/any_async_store.hpp>

#include <chrono>
#include <cstdint>

namespace mdstream::inline v0 {

/// What `metered` has counted.
struct store_metrics {
  std::uint64_t calls = 0;  ///< calls that have ended
  std::uint64_t failures = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t in_flight = 0;
  std::chrono::nanoseconds busy{0};  ///< the times of all calls, added up
};

/// Counts calls, bytes and time of a store. Copies count together.
///
///     const mds::metered counted(store);
///     const double mean = double(counted.metrics().bytes_read) / counted.metrics().calls;
class metered final : public any_async_store {
 public:
  explicit metered(any_async_store inner);

  [[nodiscard]] store_metrics metrics() const;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/metered.ipp>
#endif
