#pragma once

/// A pair of fences of which the one that runs often costs nothing: membarrier(2).
///
/// Two threads that each write one variable and then read the other's must not both miss the write.
/// With a fence on both sides they do not. Here the side of every sample has `light_fence`, which
/// only binds the compiler, and the rare side has `heavy_fence`, for which the kernel runs a full
/// fence on every thread of the process.

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

namespace mdstream::inline v0::detail {

// The thread sanitizer does not know what the kernel does here.
#if defined(__SANITIZE_THREAD__)
#define MDSTREAM_ASYMMETRIC_FENCE 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MDSTREAM_ASYMMETRIC_FENCE 0
#endif
#endif
#ifndef MDSTREAM_ASYMMETRIC_FENCE
#define MDSTREAM_ASYMMETRIC_FENCE 1
#endif

inline bool membarrier_works(int command) noexcept {
  return ::syscall(SYS_membarrier, command, 0, 0) == 0;
}

/// Whether the kernel has the pair. The same answer for the whole life of the process: Linux 4.14
/// upwards has it, some sandboxes refuse the call.
[[nodiscard]] inline bool has_asymmetric_fence() noexcept {
#if MDSTREAM_ASYMMETRIC_FENCE
  static const bool works = membarrier_works(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
                            membarrier_works(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  return works;
#else
  return false;
#endif
}

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// A few microseconds. False where there was no fence, because a sandbox that the process went into
/// after it started refuses the call. Precondition: `has_asymmetric_fence()`.
[[nodiscard]] inline bool heavy_fence() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const bool fenced = membarrier_works(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return fenced;
}

}  // namespace mdstream::inline v0::detail
