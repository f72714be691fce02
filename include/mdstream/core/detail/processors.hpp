#pragma once

/// How many processors there are for this process: what the system, its control group and its
/// affinity leave to it.

#include <algorithm>
#include <cstdint>
#include <string>

namespace mdstream::inline v0::detail {

/// Processors of the machine that are running. At least 1.
[[nodiscard]] unsigned cores_of_machine() noexcept;

/// Those of `machine` that the control group of this process may use, by its list and by its share
/// of their time (rounded up); without such limits, or without control groups, all. At least 1.
/// `root` is the directory in which /proc and /sys lie. Control groups v1 and v2.
/// Source: cgroups(7), and the kernel's Documentation/admin-guide/cgroup-v2.rst.
[[nodiscard]] unsigned cores_of_group(unsigned machine = cores_of_machine(),
                                      const std::string& root = "");

/// Processors that the scheduler may run the calling thread on. At least 1.
[[nodiscard]] unsigned cores_by_affinity() noexcept;

/// Processors that this process can keep busy.
[[nodiscard]] inline unsigned usable_cores() {
  return std::min(cores_by_affinity(), cores_of_group());
}

/// Threads for one of `ranks` processes that share `group` processors and may each run on `own`:
/// its part of them. A launcher that binds each rank to processors of its own has divided them
/// already, so `own` is a limit and is not divided again. Two where there are two, because one
/// thread prepares no epoch while it fetches another.
[[nodiscard]] constexpr unsigned cores_of_rank(unsigned own, unsigned group,
                                               std::uint64_t ranks) noexcept {
  const auto part = static_cast<unsigned>(group / std::max<std::uint64_t>(ranks, 1));
  return std::max(std::min(own, part), std::min({own, group, 2U}));
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/processors.ipp>
#endif
