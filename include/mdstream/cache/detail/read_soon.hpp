#pragma once

/// What the kernel is asked and told about the pages of mapped files.

#include <mdstream/cache/detail/page_requests.hpp>
#include <mdstream/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace mdstream::inline v0::detail {

/// Bytes of the ranges that are asked for: a larger request makes no disk faster.
inline constexpr std::size_t most_read_soon = std::size_t{1} << 20;

/// Begins to read those of these pages that are not in memory, and waits for none. It is a hint:
/// what fails is read when it is touched. Precondition: they are mapped. Cost: a call of the system
/// for each 128 KiB of a range.
void read_soon(std::span<const page_range> pages) noexcept;

/// Says whether a mapping is read at random places. The kernel then reads only the page that is
/// touched, and nothing around it.
void read_randomly(bytes_view mapping, bool randomly) noexcept;

/// Bytes that the kernel has read from disks for the calling thread, since that began. Some file
/// systems in user space do not count.
[[nodiscard]] std::uint64_t bytes_from_disk() noexcept;

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/read_soon.ipp>
#endif
