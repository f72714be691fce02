#pragma once

/// Work on many things by some threads that may block.

#include <cstddef>
#include <functional>
#include <stop_token>

namespace mdstream::inline v0::detail {

/// Calls `work(i, stop)` for each i below `count`, by up to `jobs` threads, of which the caller is
/// one. The first failure stops all others and is thrown when they have ended. Throws
/// errc::canceled after a stop.
void for_each_parallel(std::size_t count, unsigned jobs, const std::stop_token& stop,
                       const std::function<void(std::size_t, std::stop_token)>& work);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/source/detail/impl/parallel.ipp>
#endif
