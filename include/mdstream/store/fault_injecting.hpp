#pragma once

/// An adapter that fails on purpose, by a script or at random with a seed: for tests of programs
/// and stores.

#include <mdstream/async/runtime.hpp>
#include <mdstream/store/any_async_store.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace mdstream::inline v0 {

/// What can go wrong with a call, for tests.
enum class store_fault : std::uint8_t {
  none,
  unavailable,  ///< `errc::unavailable` instead of the call
  reset,        ///< the call is made, but completes with `errc::io_error`
  stall,        ///< the call is made after a pause
  short_read,   ///< a read returns half of its bytes; other calls have no fault
  broken_off,   ///< a read ends with `errc::unavailable` after half of it; others have no fault
  wrong_byte,   ///< a read has one wrong byte, which only a hash shows; others have no fault
  wrong_size,   ///< a size is one too large; others have no fault
};

/// Which calls of `fault_injecting` fail, and how.
struct fault_plan {
  std::map<std::uint64_t, store_fault> script{};  ///< by number of the call, from 0
  double chance = 0;                              ///< probability of a fault in any other call
  /// The faults that are drawn at random.
  std::vector<store_fault> kinds{store_fault::unavailable, store_fault::reset, store_fault::stall,
                                 store_fault::short_read};
  std::uint64_t seed = 0;
  std::chrono::nanoseconds stall = std::chrono::milliseconds(10);
};

/// Makes calls of a store fail as the plan says, for tests. The same plan and the same order of
/// calls give the same faults. The runtime has to outlive the calls.
///
///     const mds::fault_injecting faulty(threads, store, {.chance = 0.1, .seed = 17});
///     const mds::retrying patient(threads, faulty, {.attempts = 8});
class fault_injecting final : public any_async_store {
 public:
  fault_injecting(runtime& threads, any_async_store inner, fault_plan plan);

  /// Calls so far, and those that were made to fail.
  [[nodiscard]] std::uint64_t calls() const;
  [[nodiscard]] std::uint64_t faults() const;
};

}  // namespace mdstream::inline v0

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/fault_injecting.ipp>
#endif
