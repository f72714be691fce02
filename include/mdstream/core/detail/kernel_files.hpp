#pragma once

/// Small files in which the kernel says what it leaves to a process.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mdstream::inline v0::detail {

/// A small file of the kernel without its last newline; nothing if it cannot be read.
[[nodiscard]] std::optional<std::string> kernel_text(const std::string& path);

/// A number without a sign; nothing for other texts, such as "max".
[[nodiscard]] std::optional<std::uint64_t> kernel_number(std::string_view text);

/// The directories of this process's control groups and of all their parents, of every controller,
/// for control groups v1 and v2. Some need not exist: a container may not see the directory of its
/// group, only its own as the root. `root` is the directory in which /proc and /sys lie.
/// Source: cgroups(7), and the kernel's Documentation/admin-guide/cgroup-v2.rst.
[[nodiscard]] std::vector<std::string> control_groups(const std::string& root);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/core/detail/impl/kernel_files.ipp>
#endif
