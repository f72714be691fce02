#pragma once

/// What the epochs of a loader are at, beside the one whose batches are handed out. Pure.

#include <cstddef>
#include <cstdint>

namespace mdstream::inline v0::detail {

/// How far the next epoch is prepared.
enum class readiness : std::uint8_t {
  none,
  read,     ///< its order is opened, and its first batches are read
  fetched,  ///< their shards are asked for
  built     ///< batches are prefetched, if the loader does that; or a step failed
};

enum class epoch_state : std::uint8_t {
  none,      ///< no next epoch has begun
  resting,   ///< one has; no thread works on it
  stepping,  ///< a thread takes its next step
  awaited,   ///< the same, and another thread waits for the end of that step, to take the epoch
  stopping,  ///< the loader ends, but the step first
  closing,   ///< every epoch was left, and some have not ended
  closed     ///< nothing is under way, and nothing begins
};

enum class epoch_event : std::uint8_t {
  begin,    ///< the next epoch begins
  want,     ///< it is wanted up to a readiness
  go_on,    ///< a thread has time for a step
  stepped,  ///< that thread has taken the step
  failed,   ///< it could not
  take,     ///< the next epoch is asked for, to be the current one or to be dropped
  leave,    ///< an epoch is left: it ends when nothing of it is under way
  gone,     ///< an epoch that was left has ended
  close     ///< the loader ends
};

/// What is to be done after an event.
enum class epoch_action : std::uint8_t {
  none,
  post,       ///< send `go_on` from a thread of the pool
  step,       ///< take the step to `epoch_states::next_step()`, then send `stepped` or `failed`
  wait,       ///< wait for the end of the step, then send `take` again
  wake,       ///< wake the thread that waits for it
  hand_over,  ///< give the epoch to the caller
  announce,   ///< no epoch that was left is there any more
  leave_all,  ///< send `leave` for every epoch, and then one `gone`
  finish      ///< the loader has ended: nothing is called after this
};

/// Not thread-safe. An event that has no meaning in a state changes nothing.
struct epoch_states {
  epoch_state at = epoch_state::none;
  readiness reached = readiness::none;
  readiness wanted = readiness::none;
  std::size_t leaving = 0;  ///< epochs that were left and have not ended; 1 more for `leave_all`

  /// `wish` is that of `want`.
  [[nodiscard]] epoch_action on(epoch_event what, readiness wish = readiness::none) noexcept;

  [[nodiscard]] readiness next_step() const noexcept {
    return static_cast<readiness>(static_cast<std::uint8_t>(reached) + 1);
  }

  friend bool operator==(const epoch_states&, const epoch_states&) = default;

 private:
  [[nodiscard]] epoch_action step_over(readiness now) noexcept;
  [[nodiscard]] epoch_action leave_all() noexcept;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/stream/detail/impl/epoch_states.ipp>
#endif
