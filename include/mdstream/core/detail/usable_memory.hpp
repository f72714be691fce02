#pragma once

/// How much memory this process and the files that it reads may take: what the system and its
/// control group leave to them.

#include <cstdint>
#include <string>

namespace mdstream::inline v0::detail {

/// Bytes in which the kernel can keep pages of files for this process: MemAvailable of
/// /proc/meminfo, or less if a control group of the process, or a parent of it, has a limit. What
/// the processes of a group have allocated themselves counts against its limit. The largest number
/// where nothing says so. `root` is the directory in which /proc and /sys lie. Control groups v1
/// and v2. Cost: some 0.1 ms.
/// Source: proc_meminfo(5), the kernel's Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
[[nodiscard]] std::uint64_t usable_memory(const std::string& root = "");

/// Bytes of all memory that the machine has.
[[nodiscard]] std::uint64_t machine_memory() noexcept;

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/usable_memory.ipp>
#endif
