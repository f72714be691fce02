#pragma once

/// What the handler of signals and the rest of the program have in common.

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <limits>

namespace mdstream::inline v0::launch::detail {

/// Times are nanoseconds of the steady clock.
struct stop_signals {
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  std::atomic<bool> in_use{false};
  std::atomic<int> first{0};                  ///< the first signal; 0: none yet
  std::atomic<std::int64_t> came{never};      ///< when it did
  std::atomic<std::int64_t> deadline{never};  ///< when the process is killed; never: nobody asked
  // Written before the handler is installed.
  std::array<std::int64_t, NSIG> warnings{};
  std::int64_t repeats_within = 0;

  static_assert(std::atomic<int>::is_always_lock_free);
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);

  static stop_signals& instance() noexcept {
    static constinit stop_signals only;
    return only;
  }

  /// The process is killed `warning` after `now`, or earlier where that was known before.
  void ask(std::int64_t now, std::int64_t warning) noexcept {
    const std::int64_t until = now + std::min(warning, never - 1 - now);
    std::int64_t known = deadline.load();
    while (until < known && !deadline.compare_exchange_weak(known, until)) continue;
  }

  [[nodiscard]] static std::int64_t clock() noexcept;

  /// The handler: calls only what is async-signal-safe.
  static void take(int signal);
};

}  // namespace mdstream::inline v0::launch::detail
