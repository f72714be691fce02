#pragma once

/// POSIX files as the library uses them: descriptors that close themselves, whole reads and writes,
/// durable renames. Failures are `mdstream::error` with the path and the system's reason. A call
/// that a signal interrupts, a profiler's timer say, is made again.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/detail/hex.hpp>
#include <mdstream/core/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0::detail {

/// A file descriptor that is closed with its owner.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept;
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// What `call` returns, called again while it returns -1 and errno is EINTR.
template <class Call>
auto uninterrupted(const Call& call) noexcept {
  while (true) {
    const auto out = call();
    if (out != -1 || errno != EINTR) return out;
  }
}

/// Opens `path`; an empty descriptor and errno when that fails.
[[nodiscard]] unique_fd try_open(const std::string& path, int flags, mode_t mode = 0666) noexcept;

[[nodiscard]] unique_fd open_file(const std::string& path, int flags, mode_t mode = 0666);

/// As `open_file`; empty where there is no such file. What could not be opened for another reason,
/// a lack of descriptors say, is not missing.
[[nodiscard]] unique_fd open_if_there(const std::string& path, int flags);

/// Bytes of an open regular file.
[[nodiscard]] std::uint64_t file_size(int fd, const std::string& path);

/// What tells one state of an open file from another: device, inode, size, and when its bytes and
/// its inode were changed.
class file_state {
 public:
  file_state(int fd, const std::string& path);
  explicit file_state(const struct stat& info);

  [[nodiscard]] std::uint64_t bytes() const noexcept { return of_[0]; }
  /// The same as text, for all machines that mount its file system.
  [[nodiscard]] std::string tag() const;
  /// Whether an open file has the same bytes: all but when its inode was changed, which a new file
  /// that takes its name does as well.
  [[nodiscard]] bool has_bytes_of(const file_state& other) const noexcept;
  /// Throws the error of a file that is no longer of this state, which is final.
  [[noreturn]] static void fail(const std::string& path);

  friend bool operator==(const file_state&, const file_state&) = default;

 private:
  std::array<std::uint64_t, 7> of_{};
};

/// Fills `into` from `offset`; returns fewer bytes only at the end of the file.
[[nodiscard]] std::size_t read_at(int fd, std::uint64_t offset, mutable_bytes into,
                                  const std::string& path);

/// As `read_at`; nothing and errno where that throws.
[[nodiscard]] std::optional<std::size_t> try_read_at(int fd, std::uint64_t offset,
                                                     mutable_bytes into) noexcept;

/// All that an open file has, from where it is read, which may not know its size: one of /proc.
/// What cannot be read ends it, and so does the first MiB.
[[nodiscard]] std::string read_unsized(int fd);

/// The same of a file by its name; empty if it cannot be opened, unless descriptors are lacking.
[[nodiscard]] std::string read_unsized(const std::string& path);

void write_at(int fd, std::uint64_t offset, bytes_view bytes, const std::string& path);

/// As `write_at`; false and errno where that throws.
[[nodiscard]] bool try_write_at(int fd, std::uint64_t offset, bytes_view bytes) noexcept;

/// Makes an empty file `bytes` long, with all blocks reserved. Returns 0 or errno.
[[nodiscard]] int reserve_file(int fd, std::uint64_t bytes) noexcept;

/// Cuts a file off after so many bytes.
void cut_file(int fd, std::uint64_t bytes, const std::string& path);

/// As flock(2).
[[nodiscard]] int lock_descriptor(int fd, int how) noexcept;

/// The directory part of a path, without the last `/`; "." when there is none.
[[nodiscard]] std::string parent_of(const std::string& path);

/// Makes the directory and those above it, and calls `made(path)` for each that was not there.
/// Returns 0 or errno.
template <class Made>
[[nodiscard]] int make_directories(const std::string& path, const Made& made) {
  if (::mkdir(path.c_str(), 0777) == 0) return made(path), 0;
  if (errno == ENOENT) {
    if (const int failure = make_directories(parent_of(path), made); failure != 0) return failure;
    if (::mkdir(path.c_str(), 0777) == 0) return made(path), 0;
  }
  if (errno != EEXIST) return errno;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return errno;
  return S_ISDIR(info.st_mode) ? 0 : ENOTDIR;
}
[[nodiscard]] inline int make_directories(const std::string& path) {
  return make_directories(path, [](const std::string&) {});
}

/// Lets users that may read and write in the directory of a new file (directory) read and write it
/// too, whatever the umask took away.
void share_as_parent(const std::string& path, int fd);

/// Makes directories that the users of the directory above them can use too. Returns 0 or errno.
[[nodiscard]] int make_shared_directories(const std::string& path);

/// A number that no other call and no other process is likely to get, forks of this one among them.
[[nodiscard]] std::uint64_t unique_number();

[[nodiscard]] inline std::string unique_name() { return hex_digits(unique_number()); }

/// Waits until a file or directory is on the disk. File systems that cannot say so (EINVAL) pass.
void make_durable(int fd, const std::string& path);

void make_directory_durable(const std::string& path);

/// Whether the open file still has a name.
[[nodiscard]] bool is_linked(int fd) noexcept;

enum class durability { cached, flushed };

/// A file that takes the place of `path` once it is whole: a temporary file beside it, which goes
/// with this object unless it got its name. It is locked (flock) as long as it is in the making:
/// a process that finds one that is not may delete it. Not thread-safe.
class replacement_file {
 public:
  explicit replacement_file(std::string path)
      : replacement_file(std::move(path), [](const std::string&) {}) {}
  /// Calls `made(directory)` for each directory that it has to make. The temporary file is named
  /// `.mdstream-<maker><sixteen digits>.tmp`.
  template <class Made>
  replacement_file(std::string path, const Made& made, std::string_view maker = "")
      : path_(std::move(path)), directory_(parent_of(path_)) {
    do {  // a process that cleans up may come between making and locking
      temporary_ = directory_ + "/.mdstream-" + std::string(maker) + unique_name() + ".tmp";
      fd_ = open_in_directory(made);
      (void)lock_descriptor(fd_.get(), LOCK_EX);  // without locks, nobody cleans up
    } while (!is_linked(fd_.get()));
  }
  replacement_file(const replacement_file&) = delete;
  replacement_file& operator=(const replacement_file&) = delete;
  ~replacement_file() {
    if (fd_) ::unlink(temporary_.c_str());
  }

  /// Bytes that were appended.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Takes the place of so many bytes at once, where the file system can: cheaper than one block
  /// after the other, and a full disk shows at once.
  void reserve(std::uint64_t bytes) const;

  void append(bytes_view bytes);

  void publish(durability wanted);

  /// As `publish(durability::flushed)`, unless the path names a file; whether it does not. Throws
  /// `errc::unsupported` where the file system has no hard links.
  [[nodiscard]] bool create();

 private:
  /// Most files go where there are others: the directory is made where one is missing.
  template <class Made>
  [[nodiscard]] unique_fd open_in_directory(const Made& made) const {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
    for (int attempt = 0; attempt < 10; ++attempt) {  // others may remove a directory without files
      if (unique_fd fd = try_open(temporary_, flags, 0666); fd) return fd;
      if (errno != ENOENT && errno != ENOTDIR)
        throw system_failure(errno, "cannot open", temporary_);
      if (const int failure = make_directories(directory_, made); failure != 0)
        throw system_failure(failure, "cannot make the directory", directory_);
    }
    return open_file(temporary_, flags);
  }

  std::string path_, directory_, temporary_;
  unique_fd fd_;
  std::uint64_t size_ = 0;
};

/// Makes `path` hold `bytes`, whole or not at all. Calls `made(directory)` for each directory that
/// it had to make.
template <class Made>
void replace_file(const std::string& path, bytes_view bytes, durability wanted, const Made& made) {
  replacement_file file(path, made);
  file.append(bytes);
  file.publish(wanted);
}
inline void replace_file(const std::string& path, bytes_view bytes, durability wanted) {
  replace_file(path, bytes, wanted, [](const std::string&) {});
}

}  // namespace mdstream::inline v0::detail

#ifndef MDSTREAM_SEPARATE_COMPILATION
#include <mdstream/store/detail/impl/file.ipp>
#endif
