#pragma once

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <sys/random.h>
#include <cerrno>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::uint64_t random_bits() {
  std::uint64_t out = 0;
  while (::getrandom(&out, sizeof out, 0) != sizeof out)
    if (errno != EINTR) throw system_failure(errno, "cannot get random numbers", {});
  return out;
}

}  // namespace mdstream::inline v0::detail
