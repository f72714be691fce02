// The calls on files of a program whose tests let them fail.

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "support/failing_disk.hpp"

namespace disk {

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

enum class needs : bool { nothing, room };

/// Whether this call fails; its errno is set then.
bool fails(const char* call, const std::string& path, needs what) {
  support::detail::disk_plan& plan = support::detail::plan;
  const std::lock_guard lock(plan.mutex);
  if (plan.below.empty() || !path.starts_with(plan.below)) return false;
  if (plan.error == ENOSPC && what != needs::room) return false;
  if (++plan.calls < plan.number || (plan.calls > plan.number && !plan.lasts)) return false;
  plan.failed.push_back(std::string(call) + ' ' + path);
  errno = plan.error;
  return true;
}

bool fails(const char* call, int fd, needs what) {
  const int before = errno;
  std::array<char, PATH_MAX> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = ::readlink(link.c_str(), path.data(), path.size());
  errno = before;
  return size > 0 && fails(call, std::string(path.data(), static_cast<std::size_t>(size)), what);
}

}  // namespace disk

extern "C" {

int open(const char* path, int flags, ...) {
  static const auto real = disk::next<int(const char*, int, ...)>("open");
  if ((flags & O_CREAT) == 0)
    return disk::fails("open", path, disk::needs::nothing) ? -1 : real(path, flags);
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  struct stat info{};
  static const auto real_stat = disk::next<int(const char*, struct stat*)>("stat");
  const bool is_new = real_stat(path, &info) != 0;
  const bool fails = disk::fails("open", path, is_new ? disk::needs::room : disk::needs::nothing);
  return fails ? -1 : real(path, flags, mode);
}

ssize_t read(int fd, void* into, std::size_t size) {
  static const auto real = disk::next<ssize_t(int, void*, std::size_t)>("read");
  return disk::fails("read", fd, disk::needs::nothing) ? -1 : real(fd, into, size);
}

ssize_t pread(int fd, void* into, std::size_t size, off_t offset) {
  static const auto real = disk::next<ssize_t(int, void*, std::size_t, off_t)>("pread");
  return disk::fails("pread", fd, disk::needs::nothing) ? -1 : real(fd, into, size, offset);
}

ssize_t write(int fd, const void* from, std::size_t size) {
  static const auto real = disk::next<ssize_t(int, const void*, std::size_t)>("write");
  return disk::fails("write", fd, disk::needs::room) ? -1 : real(fd, from, size);
}

ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  static const auto real = disk::next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return disk::fails("pwrite", fd, disk::needs::room) ? -1 : real(fd, from, size, offset);
}

/// The descriptor is closed, whether this fails or not.
int close(int fd) {
  static const auto real = disk::next<int(int)>("close");
  const bool is_read_only = (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
  if (!disk::fails("close", fd, is_read_only ? disk::needs::nothing : disk::needs::room))
    return real(fd);
  const int error = errno;
  (void)real(fd);
  errno = error;
  return -1;
}

void* mmap(void* at, std::size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  static const auto real = disk::next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  const bool fails = fd >= 0 && disk::fails("mmap", fd, disk::needs::nothing);
  return fails ? MAP_FAILED : real(at, size, protection, flags, fd, offset);
}

int fsync(int fd) {
  static const auto real = disk::next<int(int)>("fsync");
  return disk::fails("fsync", fd, disk::needs::room) ? -1 : real(fd);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  static const auto real = disk::next<int(int, off_t, off_t)>("posix_fallocate");
  return disk::fails("posix_fallocate", fd, disk::needs::room) ? errno : real(fd, offset, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  static const auto real = disk::next<int(int, int, off_t, off_t)>("fallocate");
  return disk::fails("fallocate", fd, disk::needs::room) ? -1 : real(fd, mode, offset, size);
}

int ftruncate(int fd, off_t size) noexcept {
  static const auto real = disk::next<int(int, off_t)>("ftruncate");
  return disk::fails("ftruncate", fd, disk::needs::room) ? -1 : real(fd, size);
}

int fchmod(int fd, mode_t mode) noexcept {
  static const auto real = disk::next<int(int, mode_t)>("fchmod");
  return disk::fails("fchmod", fd, disk::needs::nothing) ? -1 : real(fd, mode);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = disk::next<int(const char*, mode_t)>("mkdir");
  return disk::fails("mkdir", path, disk::needs::room) ? -1 : real(path, mode);
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = disk::next<int(const char*, const char*)>("rename");
  return disk::fails("rename", to, disk::needs::room) ? -1 : real(from, to);
}

int link(const char* from, const char* to) noexcept {
  static const auto real = disk::next<int(const char*, const char*)>("link");
  return disk::fails("link", to, disk::needs::room) ? -1 : real(from, to);
}

int unlink(const char* path) noexcept {
  static const auto real = disk::next<int(const char*)>("unlink");
  return disk::fails("unlink", path, disk::needs::nothing) ? -1 : real(path);
}

int rmdir(const char* path) noexcept {
  static const auto real = disk::next<int(const char*)>("rmdir");
  return disk::fails("rmdir", path, disk::needs::nothing) ? -1 : real(path);
}

int stat(const char* path, struct stat* into) noexcept {
  static const auto real = disk::next<int(const char*, struct stat*)>("stat");
  return disk::fails("stat", path, disk::needs::nothing) ? -1 : real(path, into);
}

int fstat(int fd, struct stat* into) noexcept {
  static const auto real = disk::next<int(int, struct stat*)>("fstat");
  return disk::fails("fstat", fd, disk::needs::nothing) ? -1 : real(fd, into);
}

int access(const char* path, int mode) noexcept {
  static const auto real = disk::next<int(const char*, int)>("access");
  return disk::fails("access", path, disk::needs::nothing) ? -1 : real(path, mode);
}

int flock(int fd, int how) noexcept {
  static const auto real = disk::next<int(int, int)>("flock");
  return disk::fails("flock", fd, disk::needs::nothing) ? -1 : real(fd, how);
}

DIR* opendir(const char* path) {
  static const auto real = disk::next<DIR*(const char*)>("opendir");
  return disk::fails("opendir", path, disk::needs::nothing) ? nullptr : real(path);
}

dirent* readdir(DIR* of) {
  static const auto real = disk::next<dirent*(DIR*)>("readdir");
  return disk::fails("readdir", ::dirfd(of), disk::needs::nothing) ? nullptr : real(of);
}

}  // extern "C"
