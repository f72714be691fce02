// Loaded before a program (LD_PRELOAD): interrupts about a fourth of its calls on files and cuts a
// fourth of its transfers short, as signals, network file systems and pipes do. Says at the end how
// many. Which ones follows from MDSTREAM_TEST_SEED.
//
// Only what POSIX allows and the kernel does: a descriptor of an event is never interrupted; a
// write to a pipe that fits is never cut short, nor a line that is appended to a log, nor the text
// of a number in /proc/sys.

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <string_view>

namespace {

struct counter {
  std::atomic<std::uint64_t> struck{0}, all{0};
};

struct faults {
  std::uint64_t seed = 0;
  pid_t process = 0;  // whose counts are told; 0: another's
  std::atomic<std::uint64_t> drawn{0};
  counter calls{}, transfers{};
};

faults& state() {
  static faults& only = *new faults;
  return only;
}

/// The finaliser of SplitMix64.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

std::uint64_t draw() {
  faults& own = state();
  return mixed(own.seed + (own.drawn.fetch_add(1) + 1) * 0x9e3779b97f4a7c15ULL);
}

bool strikes(counter& of) {
  of.all.fetch_add(1);
  const bool out = draw() % 4 == 0;
  if (out) of.struck.fetch_add(1);
  return out;
}

bool interrupts() {
  if (!strikes(state().calls)) return false;
  errno = EINTR;
  return true;
}

mode_t kind_of(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_mode & S_IFMT : 0;
}

/// Files and pipes; sockets and events are the libraries' beneath.
bool has_bytes(mode_t kind) { return kind == S_IFREG || kind == S_IFIFO; }

bool is_sysctl(int fd) {
  std::array<char, 16> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  return ::readlink(link.c_str(), path.data(), path.size()) > 0 &&
         std::string_view(path.data(), path.size()).starts_with("/proc/sys/");
}

std::size_t shortened(std::size_t size) {
  if (size < 2 || !strikes(state().transfers)) return size;
  return 1 + draw() % (size - 1);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

template <class Read>
ssize_t reads(int fd, std::size_t size, const Read& read) {
  const mode_t kind = kind_of(fd);
  if (!has_bytes(kind)) return read(size);
  if (interrupts()) return -1;
  return read(is_sysctl(fd) ? size : shortened(size));
}

template <class Write>
ssize_t writes(int fd, std::size_t size, const Write& write) {
  const mode_t kind = kind_of(fd);
  if (!has_bytes(kind)) return write(size);
  if (interrupts()) return -1;
  const bool is_log = (::fcntl(fd, F_GETFL) & O_APPEND) != 0;
  return write(kind == S_IFREG && !is_log ? shortened(size) : size);
}

__attribute__((constructor)) void begin() {
  faults& own = state();
  const char* const given = std::getenv("MDSTREAM_TEST_SEED");
  own.seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}() | 1U;
  ::setenv("MDSTREAM_TEST_SEED", std::to_string(own.seed).c_str(), 1);
  // The programs that this one starts do not tell their counts.
  if (std::getenv("MDSTREAM_FAULTS") == nullptr) own.process = ::getpid();
  ::setenv("MDSTREAM_FAULTS", "1", 1);
}

__attribute__((destructor)) void end() {
  const faults& own = state();
  if (own.process != ::getpid()) return;
  const auto number = [](const std::atomic<std::uint64_t>& of) {
    return std::to_string(of.load());
  };
  const std::string text = "faults: " + number(own.calls.struck) + " of " + number(own.calls.all) +
                           " calls interrupted, " + number(own.transfers.struck) + " of " +
                           number(own.transfers.all) + " transfers cut short\n";
  std::fputs(text.c_str(), stderr);
}

}  // namespace

extern "C" {

ssize_t read(int fd, void* into, std::size_t size) {
  static const auto real = next<ssize_t(int, void*, std::size_t)>("read");
  return reads(fd, size, [&](std::size_t part) { return real(fd, into, part); });
}

ssize_t pread(int fd, void* into, std::size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, void*, std::size_t, off_t)>("pread");
  return reads(fd, size, [&](std::size_t part) { return real(fd, into, part, offset); });
}

ssize_t write(int fd, const void* from, std::size_t size) {
  static const auto real = next<ssize_t(int, const void*, std::size_t)>("write");
  return writes(fd, size, [&](std::size_t part) { return real(fd, from, part); });
}

ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) {
  static const auto real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  return writes(fd, size, [&](std::size_t part) { return real(fd, from, part, offset); });
}

int open(const char* path, int flags, ...) {
  static const auto real = next<int(const char*, int, ...)>("open");
  if (interrupts()) return -1;
  if ((flags & O_CREAT) == 0 && (flags & O_TMPFILE) != O_TMPFILE) return real(path, flags);
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  return real(path, flags, mode);
}

int flock(int fd, int how) noexcept {
  static const auto real = next<int(int, int)>("flock");
  return interrupts() ? -1 : real(fd, how);
}

/// What takes long is interrupted each time, as older kernels do it in /dev/shm under a timer.
int posix_fallocate(int fd, off_t offset, off_t size) {
  static const auto real = next<int(int, off_t, off_t)>("posix_fallocate");
  const bool is_long = size > off_t{1} << 20;
  return interrupts() || is_long ? EINTR : real(fd, offset, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  static const auto real = next<int(int, int, off_t, off_t)>("fallocate");
  return interrupts() ? -1 : real(fd, mode, offset, size);
}

int ftruncate(int fd, off_t size) noexcept {
  static const auto real = next<int(int, off_t)>("ftruncate");
  return interrupts() ? -1 : real(fd, size);
}

int fsync(int fd) {
  static const auto real = next<int(int)>("fsync");
  return interrupts() ? -1 : real(fd);
}

int fdatasync(int fd) {
  static const auto real = next<int(int)>("fdatasync");
  return interrupts() ? -1 : real(fd);
}

int poll(pollfd* of, nfds_t count, int most) {
  static const auto real = next<int(pollfd*, nfds_t, int)>("poll");
  return most != 0 && interrupts() ? -1 : real(of, count, most);
}

}  // extern "C"
