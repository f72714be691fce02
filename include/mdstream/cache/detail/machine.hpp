#pragma once

/// Which machine a process runs on, as far as the locks and the members of a cache directory care.

#include <mdstream/core/fnv.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mdstream::inline v0::detail {

/// Locks of flock(2) hold among the processes of one kernel. Its boot id stands for it: containers
/// share it, other machines and other boots do not.
struct machine {
  std::string name{};       ///< for messages
  std::uint64_t boot = 0;   ///< of the running kernel; 0: unknown
  std::uint64_t host = 0;   ///< the same after a reboot
  bool local_disk = false;  ///< the directory's file system is one that only one machine mounts

  /// The machine of this process, and what it has the directory on.
  [[nodiscard]] static machine of(const std::string& directory);

 private:
  [[nodiscard]] static std::string first_line(const std::string& path);

  [[nodiscard]] static std::uint64_t hash_of(std::string_view text) {
    return fnv1a().add(text).value();
  }

  [[nodiscard]] static bool is_local(std::uint32_t type) noexcept;
};

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/machine.ipp>
#endif
