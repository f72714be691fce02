#pragma once

#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/version.hpp>

#include <sys/resource.h>
#include <filesystem>
#include <system_error>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::size_t free_descriptors() {
  struct rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return 0;
  std::error_code failure;
  rlim_t open = 0;
  std::filesystem::directory_iterator at("/proc/self/fd", failure);
  for (; !failure && at != std::filesystem::directory_iterator(); at.increment(failure)) ++open;
  return failure ? 0 : static_cast<std::size_t>(most.rlim_cur - std::min(most.rlim_cur, open));
}

}  // namespace mdstream::inline v0::detail
