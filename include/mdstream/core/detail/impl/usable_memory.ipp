#pragma once

#include <mdstream/core/detail/kernel_files.hpp>
#include <mdstream/core/detail/usable_memory.hpp>
#include <mdstream/version.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>

namespace mdstream::inline v0::detail {

/// The number behind `name` in lines such as "MemAvailable:  1024 kB" or "anon 4096".
[[nodiscard]] MDSTREAM_INLINE std::optional<std::uint64_t> number_of_line(std::string_view text,
                                                                          std::string_view name) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == 0 || begin == line.npos) continue;  // a longer name, or no number
    line.remove_prefix(begin);
    return kernel_number(line.substr(0, line.find(' ')));
  }
  return std::nullopt;
}

/// What one group leaves to pages of files. A directory has the files of one version.
[[nodiscard]] MDSTREAM_INLINE std::uint64_t memory_by_directory(const std::string& group) {
  constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t limit = no_limit;
  for (const char* const name : {"/memory.max", "/memory.high", "/memory.limit_in_bytes"})
    if (const auto text = kernel_text(group + name))
      limit = std::min(limit, kernel_number(*text).value_or(no_limit));
  if (limit == no_limit) return no_limit;
  const std::string stat = kernel_text(group + "/memory.stat").value_or("");
  const std::uint64_t allocated =
      number_of_line(stat, "anon").value_or(number_of_line(stat, "total_rss").value_or(0));
  return limit - std::min(limit, allocated);
}

MDSTREAM_INLINE std::uint64_t usable_memory(const std::string& root) {
  constexpr std::uint64_t unknown = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t out = unknown;
  const std::string system = kernel_text(root + "/proc/meminfo").value_or("");
  if (const auto kilobytes = number_of_line(system, "MemAvailable:"))
    out = *kilobytes > unknown / 1024 ? unknown : *kilobytes * 1024;
  for (const std::string& group : control_groups(root))
    out = std::min(out, memory_by_directory(group));
  return out;
}

MDSTREAM_INLINE std::uint64_t machine_memory() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace mdstream::inline v0::detail
