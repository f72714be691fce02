#pragma once

/// flock(2) locks: held by an open file description, dropped by the kernel with the process.

#include <mdstream/store/detail/file.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace mdstream::inline v0::detail {

enum class lock_kind { shared, exclusive };

/// Opens (and makes) a file whose lock will be this process's: forked children do not hold it.
[[nodiscard]] unique_fd open_lock(const std::string& path, int flags = 0);

/// Takes the lock if that can be done at once. Also turns one kind into the other, in which case
/// false leaves no lock at all.
[[nodiscard]] bool try_lock_file(int fd, lock_kind kind, const std::string& path);

/// The holder of the lock of an open file, as far as this process can see.
struct lock_holder {
  pid_t process = 0;
  std::string name{};
  char state = '?';  ///< as in /proc/<pid>/stat

  [[nodiscard]] bool is_stopped() const noexcept { return state == 'T' || state == 't'; }

  [[nodiscard]] static std::optional<lock_holder> of(int fd);

  [[nodiscard]] std::string text() const;
};

/// How long a lock is waited for that another process holds.
inline constexpr std::chrono::nanoseconds patience_with_peers = std::chrono::seconds(60);

/// Waits for the exclusive lock, at most so long. Throws `errc::unavailable`, naming its holder.
void lock_file(int fd, const std::string& path,
               std::chrono::nanoseconds most = patience_with_peers);

/// Opens (and makes) a lock file and takes its lock if that can be done at once; an empty
/// descriptor when it cannot. A file that was unlinked between the two is made anew.
[[nodiscard]] unique_fd try_lock_path(const std::string& path, lock_kind kind);

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/cache/detail/impl/file_lock.ipp>
#endif
