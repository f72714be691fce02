#pragma once

/// The observer policy: who is told what a loader does. Ready-made ones: stream/observers.hpp.

#include <mdstream/version.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>

namespace mdstream::inline v0::observe {

/// What a loader has done since it was made.
struct totals {
  std::uint64_t samples = 0;            ///< handed out on this rank
  std::uint64_t bytes_fetched = 0;      ///< as they came from the remotes
  std::uint64_t requests = 0;           ///< downloads of shards, failed attempts too
  std::uint64_t failures = 0;           ///< of these, attempts that failed
  std::uint64_t evictions = 0;          ///< shards
  std::uint64_t needs = 0;              ///< shards, counted once for each batch that needed one
  std::uint64_t misses = 0;             ///< of these, such that the batch had to wait for
  std::chrono::nanoseconds stalled{0};  ///< that calls have waited for batches
};

/// A batch was handed out.
struct step {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;
  std::chrono::steady_clock::time_point begun{};  ///< when it was asked for
  std::chrono::nanoseconds took{0};               ///< until it was handed out
  std::chrono::nanoseconds stalled{0};            ///< of this, without anything to do but wait
  std::uint64_t queued = 0;                       ///< finished batches behind it
  totals sum{};
};

/// What can be worked with but should not go on: a store that has trouble, a file of
/// credentials that everybody may read.
struct warning {
  std::string text{};
};

/// Nobody: the loader then reads no clock and keeps no count for it.
struct none {};

/// An observer is told of each step, on the thread that gets the batch and before it gets it. It
/// must not throw. Optional: `operator()(const warning&)`, which is told at once, on any thread,
/// but never while another call of the observer runs; without it warnings go to standard error.
template <class Observer>
concept observer =
    std::move_constructible<Observer> && requires(Observer& tell, const step& what) { tell(what); };

/// What `policies::observer` may be.
template <class Observer>
concept observer_policy = std::same_as<Observer, none> || observer<Observer>;

}  // namespace mdstream::inline v0::observe
