#pragma once

#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/detail/directory_reader.hpp>
#include <mdstream/version.hpp>

#include <sys/resource.h>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::size_t free_descriptors() {
  struct rlimit most{};
  if (::getrlimit(RLIMIT_NOFILE, &most) != 0) return 0;
  rlim_t open = 0;
  directory_reader entries("/proc/self/fd");
  while (entries.next() != nullptr) ++open;
  return entries.failure() != 0
             ? 0
             : static_cast<std::size_t>(most.rlim_cur - std::min(most.rlim_cur, open));
}

}  // namespace mdstream::inline v0::detail
