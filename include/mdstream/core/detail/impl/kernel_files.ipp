#pragma once

#include <mdstream/core/detail/kernel_files.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE std::optional<std::string> kernel_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return std::nullopt;
  std::string out = std::move(text).str();
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

MDSTREAM_INLINE std::optional<std::uint64_t> kernel_number(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// Where the controllers of a line of /proc/self/cgroup are mounted: "" of version 2, "cpu,cpuacct"
/// of version 1, which has a directory, or a link to it, for each as well.
[[nodiscard]] MDSTREAM_INLINE std::vector<std::string> mounts_of(const std::string& controllers) {
  if (controllers.empty()) return {""};
  std::vector<std::string> out{"/" + controllers};
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name != controllers) out.push_back("/" + name);
  return out;
}

MDSTREAM_INLINE std::vector<std::string> control_groups(const std::string& root) {
  std::vector<std::string> out;
  std::istringstream lines(kernel_text(root + "/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/path", or "0::/path"
    const std::size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == line.npos || second == line.npos) continue;
    for (const std::string& mount : mounts_of(line.substr(first + 1, second - first - 1)))
      for (std::string group = line.substr(second + 1); !group.empty();
           group.resize(group == "/" ? 0 : std::max<std::size_t>(group.rfind('/'), 1)))
        out.push_back(root + "/sys/fs/cgroup" + mount + group);
  }
  return out;
}

}  // namespace mdstream::inline v0::detail
