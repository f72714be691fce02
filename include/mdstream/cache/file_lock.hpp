#pragma once

/// flock(2) locks: held by an open file description, dropped by the kernel with the process.

#include <mdstream/core/error.hpp>
#include <mdstream/core/process.hpp>
#include <mdstream/store/file.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

namespace mdstream::inline v0 {

enum class lock_kind { shared, exclusive };

namespace detail {

[[noreturn]] inline void fail_lock(int value, const std::string& path) {
  if (value == ENOLCK || value == EOPNOTSUPP || value == ENOSYS || value == EINVAL) {
    throw error(errc::unsupported,
                {.what = "the file system has no file locks, which a cache shared by processes "
                         "needs: put the cache on a local disk, or mount this one with locks",
                 .url = path,
                 .cause = std::generic_category().message(value)});
  }
  throw system_failure(value, "cannot lock", path);
}

/// Opens (and makes) a file whose lock will be this process's: forked children do not hold it.
[[nodiscard]] inline unique_fd open_lock(const std::string& path, int flags = 0) {
  unique_fd fd(
      own_descriptors::add([&] { return try_open(path, O_RDWR | O_CREAT | flags).release(); }));
  if (!fd) throw system_failure(errno, "cannot open", path);
  return fd;
}

/// Waits for the lock.
inline void lock_file(int fd, lock_kind kind, const std::string& path) {
  while (::flock(fd, kind == lock_kind::shared ? LOCK_SH : LOCK_EX) != 0) {
    if (errno != EINTR) fail_lock(errno, path);
  }
}

/// Takes the lock if that can be done at once. Also turns one kind into the other, in which case
/// false leaves no lock at all.
[[nodiscard]] inline bool try_lock_file(int fd, lock_kind kind, const std::string& path) {
  while (::flock(fd, (kind == lock_kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return false;
    if (errno != EINTR) fail_lock(errno, path);
  }
  return true;
}

/// Opens (and makes) a lock file and takes its lock if that can be done at once; an empty
/// descriptor when it can not. A file that was unlinked between the two is made anew.
[[nodiscard]] inline unique_fd try_lock_path(const std::string& path, lock_kind kind) {
  while (true) {
    unique_fd fd = open_lock(path);
    if (!try_lock_file(fd.get(), kind, path)) return {};
    if (is_linked(fd.get())) return fd;
  }
}

}  // namespace detail

}  // namespace mdstream::inline v0
