#pragma once

/// Which machine a process runs on, as far as the locks and the members of a cache directory care.

#include <mdstream/core/fnv.hpp>
#include <mdstream/store/file.hpp>

#include <sys/statfs.h>
#include <sys/utsname.h>

#include <array>
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
  [[nodiscard]] static machine of(const std::string& directory) {
    machine here;
    struct utsname names{};
    if (::uname(&names) == 0) here.name = names.nodename;
    const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
    here.host = hash_of(first_line("/etc/machine-id") + '\n' + here.name);
    here.boot = boot.empty() ? here.host : hash_of(boot);
    struct statfs disk{};
    here.local_disk = ::statfs(directory.c_str(), &disk) == 0 &&
                      is_local(static_cast<std::uint32_t>(disk.f_type));
    return here;
  }

 private:
  [[nodiscard]] static std::string first_line(const std::string& path) {
    std::array<char, 256> text{};
    const unique_fd fd = try_open(path, O_RDONLY);
    const ssize_t got = fd ? ::read(fd.get(), text.data(), text.size()) : 0;
    const std::string_view all(text.data(), static_cast<std::size_t>(got > 0 ? got : 0));
    return std::string(all.substr(0, all.find('\n')));
  }

  [[nodiscard]] static std::uint64_t hash_of(std::string_view text) {
    return fnv1a().add(text).value();
  }

  [[nodiscard]] static bool is_local(std::uint32_t type) noexcept {
    switch (type) {
      case 0xef53:      // ext2 to ext4
      case 0x58465342:  // XFS
      case 0x9123683e:  // btrfs
      case 0xf2f52010:  // F2FS
      case 0x2fc12fc1:  // ZFS
      case 0x01021994:  // tmpfs
      case 0x858458f6:  // ramfs
      case 0x794c7630:  // overlay
        return true;
      default: return false;
    }
  }
};

}  // namespace mdstream::inline v0::detail
