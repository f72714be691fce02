#pragma once

/// Work on many things by some threads that may block.

#include <cstddef>
#include <functional>
#include <stop_token>

namespace mdstream::inline v0::detail {

/// Calls `work(i, stop)` for each i below `count`, by up to `threads` threads, of which the caller
/// is one. The first failure stops all others and is thrown when they have ended; none is begun
/// after it. Throws `errc::canceled` after a stop.
void in_parallel(std::size_t count, std::size_t threads, const std::stop_token& stop,
                 const std::function<void(std::size_t, std::stop_token)>& work);

/// The same of calls that nothing stops.
inline void in_parallel(std::size_t count, std::size_t threads,
                        const std::function<void(std::size_t)>& work) {
  in_parallel(count, threads, {}, [&work](std::size_t i, const std::stop_token&) { work(i); });
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/async/detail/impl/in_parallel.ipp>
#endif
