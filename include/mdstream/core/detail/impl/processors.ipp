#pragma once

#include <mdstream/core/detail/kernel_files.hpp>
#include <mdstream/core/detail/processors.hpp>
#include <mdstream/version.hpp>

#include <sched.h>
#include <unistd.h>

#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::detail {

/// Processors for so much time in each period; nothing if there is no limit.
[[nodiscard]] MDSTREAM_INLINE std::optional<std::uint64_t> cores_by_time(std::string_view time,
                                                                         std::string_view period) {
  const auto quota = kernel_number(time), each = kernel_number(period);
  if (!quota || !each || *quota == 0 || *each == 0) return std::nullopt;  // "max", or -1
  return (*quota - 1) / *each + 1;
}

/// How many numbers a list such as "0-3,7" has; nothing for other texts.
[[nodiscard]] MDSTREAM_INLINE std::optional<std::uint64_t> cores_in_list(std::string_view list) {
  std::uint64_t out = 0;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), range.size() + 1));
    const std::size_t dash = range.find('-');
    const auto first = kernel_number(range.substr(0, dash));
    const auto last = dash == range.npos ? first : kernel_number(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    out += *last - *first + 1;
  }
  return out == 0 ? std::nullopt : std::optional(out);
}

/// The limits of one group or of one of its parents. Files of both versions: a directory has
/// those of one.
[[nodiscard]] MDSTREAM_INLINE std::uint64_t cores_by_directory(const std::string& group) {
  std::uint64_t out = std::numeric_limits<std::uint64_t>::max();
  const auto limit = [&out](std::optional<std::uint64_t> to) {
    out = std::min(out, to.value_or(out));
  };
  if (const auto both = kernel_text(group + "/cpu.max")) {
    const std::size_t space = std::min(both->find(' '), both->size());
    limit(cores_by_time(std::string_view(*both).substr(0, space),
                        std::string_view(*both).substr(std::min(space + 1, both->size()))));
  }
  const auto quota = kernel_text(group + "/cpu.cfs_quota_us");
  const auto period = kernel_text(group + "/cpu.cfs_period_us");
  if (quota && period) limit(cores_by_time(*quota, *period));
  for (const char* const name :
       {"/cpuset.cpus.effective", "/cpuset.effective_cpus", "/cpuset.cpus"})
    if (const auto list = kernel_text(group + name)) limit(cores_in_list(*list));
  return out;
}

MDSTREAM_INLINE unsigned cores_of_machine() noexcept {
  return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
}

MDSTREAM_INLINE unsigned cores_of_group(unsigned machine, const std::string& root) {
  std::uint64_t out = machine;
  for (const std::string& group : control_groups(root))
    out = std::min(out, cores_by_directory(group));
  return static_cast<unsigned>(out);
}

MDSTREAM_INLINE unsigned cores_by_affinity() noexcept {
  // A set that is too small for the machine is refused.
  for (int most = CPU_SETSIZE; most <= 1 << 20; most *= 2) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(most));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(most));
    const bool got = ::sched_getaffinity(0, bytes, set) == 0;
    const int count = got ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return static_cast<unsigned>(count);
  }
  return 1;
}

}  // namespace mdstream::inline v0::detail
