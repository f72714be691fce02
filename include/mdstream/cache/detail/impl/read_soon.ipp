#pragma once

#include <mdstream/cache/detail/mapping.hpp>
#include <mdstream/cache/detail/read_soon.hpp>
#include <mdstream/version.hpp>

#include <sys/mman.h>
#include <sys/resource.h>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE void read_soon(std::span<const page_range> pages) noexcept {
  // The kernel reads no more for a call than its read-ahead, or the largest request of the disk,
  // which are hardly ever less than this. So the rest is asked for again, which costs little where
  // it is on its way.
  constexpr std::size_t step = std::size_t{128} << 10;
  for (const page_range each : pages)
    for (std::size_t at = 0; at < each.bytes; at += step)
      (void)::madvise(reinterpret_cast<void*>(each.begin + at), each.bytes - at, MADV_WILLNEED);
}

MDSTREAM_INLINE void read_randomly(bytes_view mapping, bool randomly) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(mapping.data());
  const std::size_t before = begin % file_mapping::whole_pages(1);
  (void)::madvise(reinterpret_cast<void*>(begin - before), before + mapping.size(),
                  randomly ? MADV_RANDOM : MADV_NORMAL);
}

MDSTREAM_INLINE std::uint64_t bytes_from_disk() noexcept {
  struct rusage use{};
  if (::getrusage(RUSAGE_THREAD, &use) != 0) return 0;
  return static_cast<std::uint64_t>(use.ru_inblock) * 512;
}

}  // namespace mdstream::inline v0::detail
