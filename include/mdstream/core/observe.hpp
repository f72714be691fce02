#pragma once

/// The observer policy: watch what a loader does. stream/observers.hpp has ready-made observers.

#include <mdstream/version.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>

namespace mdstream::inline v0::observe {

/// What a loader has done since it was made.
struct totals {
  std::uint64_t samples = 0;            ///< handed out on this rank
  std::uint64_t results = 0;            ///< rows of batches; see `step`
  std::uint64_t vetoed = 0;             ///< samples of which the transform made none
  std::uint64_t bytes_fetched = 0;      ///< from the remotes, before decompression
  std::uint64_t requests = 0;           ///< downloads of shards, failed attempts too
  std::uint64_t failures = 0;           ///< of these, attempts that failed
  std::uint64_t evictions = 0;          ///< shards
  std::uint64_t needs = 0;              ///< shards, counted once for each batch that needed one
  std::uint64_t misses = 0;             ///< of these, shards that the batch had to wait for
  std::chrono::nanoseconds stalled{0};  ///< time that calls have waited for batches
};

/// A batch was handed out.
struct step {
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
  std::uint64_t samples = 0;  ///< of the batch; padding does not count
  std::uint64_t results = 0;  ///< rows of them; as many unless a transform makes any number
  std::uint64_t vetoed = 0;   ///< samples of which the transform made none
  std::chrono::steady_clock::time_point begun{};  ///< when the loop asked for the batch
  std::chrono::nanoseconds took{0};               ///< from then until it was handed out
  std::chrono::nanoseconds stalled{0};            ///< the part of `took` that was only waiting
  std::uint64_t queued = 0;                       ///< prefetched batches after this one
  totals sum{};
};

/// A problem that does not stop the program: a store that fails for a while, a file of credentials
/// that everybody may read.
struct warning {
  std::string text{};
};

/// No observer: the loader reads no clock and counts nothing.
struct none {};

/// An observer is called for each step, on the thread that gets the batch, before it gets it. It
/// must not throw. `operator()(const warning&)` is optional: it is called at once, on any thread,
/// but never during another call of the observer. Without it warnings go to standard error.
///
///     struct sample_counter {
///       std::uint64_t* samples = nullptr;
///       void operator()(const mds::observe::step& step) const { *samples += step.samples; }
///     };
///     static_assert(mds::observe::observer<sample_counter>);
template <class Observer>
concept observer =
    std::move_constructible<Observer> && requires(Observer& tell, const step& what) { tell(what); };

/// What the observer of `policies<...>` may be.
template <class Observer>
concept observer_policy = std::same_as<Observer, none> || observer<Observer>;

}  // namespace mdstream::inline v0::observe
