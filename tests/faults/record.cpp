// Loaded before a program (LD_PRELOAD): appends to MDSTREAM_RECORD, a line each and in their order,
// what the program's calls do below the directory MDSTREAM_RECORD_ROOT that decides what a loss of
// power leaves:
//
//   made INODE PATH           a new file or directory
//   write INODE               bytes of a file changed, also through a mapping from now on
//   sync INODE PATH           a flush of a file or directory began
//   copy INODE NUMBER         what a file that is flushed holds, in the file MDSTREAM_RECORD.NUMBER
//   naming INODE PATH         a file is about to get a name by rename or link
//   named INODE PATH          it has got it
//   gone PATH                 a name was removed
//   fact SHARD FLAGS PATH     a record was written of a shard of a cache
//   (cache/detail/shard_facts.hpp)
//
// tests/faults/flushes.py judges them, power_loss.py plays them again. A flush is written down when
// it begins, a change when it is done: what one thread changes while another flushes counts as not
// flushed.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

const std::string& root() {
  static const std::string& only = *new std::string([] {
    const char* const given = std::getenv("MDSTREAM_RECORD_ROOT");
    return given == nullptr ? std::string("/nowhere/") : std::string(given) + '/';
  }());
  return only;
}

bool is_recorded(const std::string& path) { return (path + '/').starts_with(root()); }

void note(const std::string& line) {
  static const auto real_open = next<int(const char*, int, ...)>("open");
  static const auto real_write = next<ssize_t(int, const void*, std::size_t)>("write");
  static const int record = [] {
    const char* const path = std::getenv("MDSTREAM_RECORD");
    const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
    return path == nullptr ? -1 : real_open(path, flags, 0600);
  }();
  const std::string whole = line + '\n';
  if (real_write(record, whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
    std::abort();  // a record with a gap proves nothing
}

std::string path_of(int fd) {
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  return size < 0 ? std::string() : std::string(path.data(), static_cast<std::size_t>(size));
}

std::string inode_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? std::to_string(info.st_ino) : "?";
}

std::string inode_of(const char* path) {
  struct stat info{};
  return ::lstat(path, &info) == 0 ? std::to_string(info.st_ino) : "?";
}

void wrote(int fd) {
  const int before = errno;
  if (is_recorded(path_of(fd))) note("write " + inode_of(fd));
  errno = before;
}

/// Keeps what the file of a descriptor, which may be one for writing, holds.
void copy(int fd) {
  static std::atomic<int> copies{0};
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return;
  const std::string number = std::to_string(copies++);
  {
    std::ofstream out(std::string(std::getenv("MDSTREAM_RECORD")) + '.' + number, std::ios::binary);
    if (info.st_size > 0)
      out << std::ifstream("/proc/self/fd/" + std::to_string(fd), std::ios::binary).rdbuf();
    if (!out.flush()) std::abort();
  }
  note("copy " + inode_of(fd) + ' ' + number);
}

void syncs(int fd) {
  const std::string path = path_of(fd);
  if (!is_recorded(path)) return;
  copy(fd);
  note("sync " + inode_of(fd) + ' ' + path);
}

/// Renames or links, and writes it down.
template <class Call>
int names(const char* from, const char* to, const Call& call) {
  if (!is_recorded(to)) return call();
  const std::string what = inode_of(from) + ' ' + to;
  note("naming " + what);
  const int out = call();
  const int failure = errno;
  if (out == 0) note("named " + what);
  errno = failure;
  return out;
}

/// A record of a shard: where it lies in the file is its number, its flags are the last of four
/// words.
void wrote_fact(int fd, const void* from, std::size_t size, off_t offset) {
  const std::string path = path_of(fd);
  std::array<std::uint32_t, 4> words{};
  if (!is_recorded(path) || path.find("/.mdstream/facts-") == path.npos || size != sizeof words)
    return;
  std::memcpy(words.data(), from, sizeof words);
  note("fact " + std::to_string(offset / 16) + ' ' + std::to_string(words[3]) + ' ' + path);
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = next<int(const char*, int, ...)>("open");
  if ((flags & O_CREAT) == 0) return real(path, flags);
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  const bool is_new = is_recorded(path) && ::access(path, F_OK) != 0;
  const int fd = real(path, flags, mode);
  if (fd >= 0 && is_new) note("made " + inode_of(fd) + ' ' + path);
  return fd;
}

ssize_t write(int fd, const void* from, std::size_t size) {
  static const auto real = next<ssize_t(int, const void*, std::size_t)>("write");
  const ssize_t out = real(fd, from, size);
  wrote(fd);
  return out;
}

ssize_t writev(int fd, const iovec* from, int count) {
  static const auto real = next<ssize_t(int, const iovec*, int)>("writev");
  const ssize_t out = real(fd, from, count);
  wrote(fd);
  return out;
}

ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  wrote_fact(fd, from, size, offset);
  const ssize_t out = real(fd, from, size, offset);
  wrote(fd);
  return out;
}

int ftruncate(int fd, off_t size) noexcept {
  static const auto real = next<int(int, off_t)>("ftruncate");
  const int out = real(fd, size);
  wrote(fd);
  return out;
}

void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static const auto real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  void* const out = real(at, size, protection, flags, fd, offset);
  if (fd >= 0 && (protection & PROT_WRITE) != 0 && (flags & MAP_PRIVATE) == 0) wrote(fd);
  return out;
}

int fsync(int fd) {
  static const auto real = next<int(int)>("fsync");
  syncs(fd);
  return real(fd);
}

int fdatasync(int fd) {
  static const auto real = next<int(int)>("fdatasync");
  syncs(fd);
  return real(fd);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next<int(const char*, mode_t)>("mkdir");
  const int out = real(path, mode);
  if (out == 0 && is_recorded(path)) note("made " + inode_of(path) + ' ' + path);
  return out;
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int(const char*, const char*)>("rename");
  const int out = names(from, to, [&] { return real(from, to); });
  if (out == 0 && is_recorded(from)) note(std::string("gone ") + from);
  return out;
}

int link(const char* from, const char* to) noexcept {
  static const auto real = next<int(const char*, const char*)>("link");
  return names(from, to, [&] { return real(from, to); });
}

int unlink(const char* path) noexcept {
  static const auto real = next<int(const char*)>("unlink");
  const int out = real(path);
  if (out == 0 && is_recorded(path)) note(std::string("gone ") + path);
  return out;
}

}  // extern "C"
