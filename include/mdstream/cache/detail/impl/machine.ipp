#pragma once

#include <mdstream/cache/detail/machine.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <sys/statfs.h>
#include <sys/utsname.h>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE machine machine::of(const std::string& directory) {
  machine here;
  struct utsname names{};
  if (::uname(&names) == 0) here.name = names.nodename;
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  here.host = hash_of(first_line("/etc/machine-id") + '\n' + here.name);
  here.boot = boot.empty() ? here.host : hash_of(boot);
  struct statfs disk{};
  here.local_disk =
      ::statfs(directory.c_str(), &disk) == 0 && is_local(static_cast<std::uint32_t>(disk.f_type));
  return here;
}

MDSTREAM_INLINE std::string machine::first_line(const std::string& path) {
  const std::string all = read_unsized(path);
  return all.substr(0, all.find('\n'));
}

MDSTREAM_INLINE bool machine::is_local(std::uint32_t type) noexcept {
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

}  // namespace mdstream::inline v0::detail
