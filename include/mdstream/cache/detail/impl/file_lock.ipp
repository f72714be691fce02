#pragma once

#include <mdstream/cache/detail/file_lock.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

namespace mdstream::inline v0::detail {

[[noreturn]] MDSTREAM_INLINE void fail_lock(int value, const std::string& path) {
  if (value == ENOLCK || value == EOPNOTSUPP || value == ENOSYS || value == EINVAL) {
    throw error(errc::unsupported,
                {.what = "the file system has no file locks, which a cache shared by processes "
                         "needs: put the cache on a local disk, or mount this one with locks",
                 .url = path,
                 .cause = std::generic_category().message(value)});
  }
  throw system_failure(value, "cannot lock", path);
}

MDSTREAM_INLINE unique_fd open_lock(const std::string& path, int flags) {
  unique_fd fd(
      own_descriptors::add([&] { return try_open(path, O_RDWR | O_CREAT | flags).release(); }));
  if (!fd) throw system_failure(errno, "cannot open", path);
  share_as_parent(path, fd.get());
  return fd;
}

MDSTREAM_INLINE bool try_lock_file(int fd, lock_kind kind, const std::string& path) {
  if (lock_descriptor(fd, (kind == lock_kind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0)
    return true;
  if (errno != EWOULDBLOCK) fail_lock(errno, path);
  return false;
}

MDSTREAM_INLINE std::optional<lock_holder> lock_holder::of(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::nullopt;
  const std::string inode = ':' + std::to_string(info.st_ino) + ' ';
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "7: FLOCK  ADVISORY  WRITE 4711 fd:01:1234 0 EOF"; "7: -> FLOCK …" only waits.
    std::istringstream words(line);
    std::string number, kind, advisory, write;
    lock_holder found;
    if (!(words >> number >> kind >> advisory >> write >> found.process) || kind != "FLOCK" ||
        found.process <= 0 || line.find(inode) == std::string::npos)
      continue;
    std::ifstream stat("/proc/" + std::to_string(found.process) + "/stat");
    std::string text;
    std::getline(stat, text);
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (open < close && close + 2 < text.size()) {
      found.name = text.substr(open + 1, close - open - 1);
      found.state = text[close + 2];
    }
    return found;
  }
  return std::nullopt;
}

MDSTREAM_INLINE std::string lock_holder::text() const {
  return "process " + std::to_string(process) + " (" + name + ")" +
         (is_stopped() ? ", which is stopped: let it go on (kill -CONT " + std::to_string(process) +
                             ") or end it"
                       : "");
}

MDSTREAM_INLINE void lock_file(int fd, const std::string& path, std::chrono::nanoseconds most) {
  const auto until = std::chrono::steady_clock::now() + most;
  std::chrono::nanoseconds pause = std::chrono::microseconds(20);
  while (!try_lock_file(fd, lock_kind::exclusive, path)) {
    if (std::chrono::steady_clock::now() >= until) {
      const std::optional<lock_holder> holder = lock_holder::of(fd);
      throw error(errc::unavailable,
                  {.what = "the lock of the cache directory has been held for " +
                           std::to_string(std::chrono::ceil<std::chrono::seconds>(most).count()) +
                           " s by " + (holder ? holder->text() : "a process that is not seen here"),
                   .url = path});
    }
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::nanoseconds>(pause * 2, std::chrono::milliseconds(2));
  }
}

MDSTREAM_INLINE unique_fd try_lock_path(const std::string& path, lock_kind kind) {
  while (true) {
    unique_fd fd = open_lock(path);
    if (!try_lock_file(fd.get(), kind, path)) return {};
    if (is_linked(fd.get())) return fd;
  }
}

}  // namespace mdstream::inline v0::detail
