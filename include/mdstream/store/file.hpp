#pragma once

/// POSIX files as the library uses them: descriptors that close themselves, whole reads and writes,
/// durable renames. Failures are `mdstream::error` with the path and the system's reason.

#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/core/hex.hpp>
#include <mdstream/core/process.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace mdstream::inline v0 {

/// A file descriptor that is closed with its owner.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) noexcept : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~unique_fd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) detail::own_descriptors::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

namespace detail {

/// Opens `path`; an empty descriptor and errno when that fails.
[[nodiscard]] inline unique_fd try_open(const std::string& path, int flags,
                                        mode_t mode = 0666) noexcept {
  while (true) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (fd >= 0 || errno != EINTR) return unique_fd(fd);
  }
}

[[nodiscard]] inline unique_fd open_file(const std::string& path, int flags, mode_t mode = 0666) {
  unique_fd fd = try_open(path, flags, mode);
  if (!fd) throw system_failure(errno, "cannot open", path);
  return fd;
}

/// Bytes of an open regular file.
[[nodiscard]] inline std::uint64_t file_size(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) throw system_failure(errno, "cannot read the size of", path);
  if (!S_ISREG(info.st_mode)) {
    throw error(errc::io_error, {.what = "is not a regular file", .url = path});
  }
  return static_cast<std::uint64_t>(info.st_size);
}

/// What tells one state of an open file from another: device, inode, size, and when its bytes and
/// its inode were changed.
class file_state {
 public:
  file_state(int fd, const std::string& path) {
    struct stat info{};
    if (::fstat(fd, &info) != 0) throw system_failure(errno, "cannot read the state of", path);
    const auto add = [this](std::size_t at, auto value) {
      of_[at] = static_cast<std::uint64_t>(value);
    };
    add(0, info.st_size);
    add(1, info.st_dev);
    add(2, info.st_ino);
    add(3, info.st_mtim.tv_sec);
    add(4, info.st_mtim.tv_nsec);
    add(5, info.st_ctim.tv_sec);
    add(6, info.st_ctim.tv_nsec);
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return of_[0]; }
  [[nodiscard]] std::string tag() const {
    std::string out;
    for (const std::uint64_t each : of_) out += hex_digits(each);
    return out;
  }
  /// Whether an open file has the same bytes: all but when its inode was changed, which a new file
  /// that takes its name does as well.
  [[nodiscard]] bool has_bytes_of(const file_state& other) const noexcept {
    return std::equal(of_.begin(), of_.begin() + 5, other.of_.begin());
  }
  /// Throws the error of a file that is no longer of this state, which is final.
  [[noreturn]] static void fail(const std::string& path) {
    throw error(errc::corrupt,
                {.what = "the file was changed while it was read", .url = path, .is_final = true});
  }

  friend bool operator==(const file_state&, const file_state&) = default;

 private:
  std::array<std::uint64_t, 7> of_{};
};

/// Fills `into` from `offset`; returns fewer bytes only at the end of the file.
[[nodiscard]] inline std::size_t read_at(int fd, std::uint64_t offset, mutable_bytes into,
                                         const std::string& path) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got =
        ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw system_failure(errno, "cannot read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

inline void write_at(int fd, std::uint64_t offset, bytes_view bytes, const std::string& path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put =
        ::pwrite(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw system_failure(errno, "cannot write", path);
    done += static_cast<std::size_t>(put);
  }
}

/// The directory part of a path, without the last `/`; "." when there is none.
[[nodiscard]] inline std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

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

/// Lets those who may read and write in the directory of a new file (directory) read and write it
/// too, whatever the umask took away.
inline void share_as_parent(const std::string& path, int fd) noexcept {
  struct stat own{}, parent{};
  if (::fstat(fd, &own) != 0 || own.st_uid != ::geteuid()) return;
  const mode_t all = S_ISDIR(own.st_mode) ? 0777 : 0666;
  if ((own.st_mode & all) == all || ::stat(parent_of(path).c_str(), &parent) != 0) return;
  const mode_t wanted = (own.st_mode | (parent.st_mode & all)) & 07777;
  if (wanted != (own.st_mode & 07777)) (void)!::fchmod(fd, wanted);
}

/// Makes directories that are used by whoever uses the one above them. Returns 0 or errno.
[[nodiscard]] inline int make_shared_directories(const std::string& path) {
  return make_directories(path, [](const std::string& made) {
    if (const unique_fd fd = try_open(made, O_RDONLY | O_DIRECTORY))
      share_as_parent(made, fd.get());
  });
}

/// A number that no other call and no other process is likely to get.
[[nodiscard]] inline std::uint64_t unique_number() {
  static std::atomic<std::uint64_t> counter{std::uint64_t{std::random_device{}()} << 32 |
                                            std::random_device{}()};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

[[nodiscard]] inline std::string unique_name() { return hex_digits(unique_number()); }

/// Waits until a file or directory is on the disk. File systems that cannot say so (EINVAL) pass.
inline void make_durable(int fd, const std::string& path) {
  if (::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) {
    throw system_failure(errno, "cannot flush", path);
  }
}

inline void make_directory_durable(const std::string& path) {
  const unique_fd fd = open_file(path, O_RDONLY | O_DIRECTORY);
  make_durable(fd.get(), path);
}

/// Whether the open file still has a name.
[[nodiscard]] inline bool is_linked(int fd) noexcept {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && info.st_nlink > 0;
}

enum class durability { cached, flushed };

/// A file that takes the place of `path` once it is whole: a temporary file beside it, which goes
/// with this object unless it got its name. It is locked (flock) as long as it is in the making:
/// who finds one that is not may delete it. Not thread-safe.
class replacement_file {
 public:
  explicit replacement_file(std::string path)
      : replacement_file(std::move(path), [](const std::string&) {}) {}
  /// Calls `made(directory)` for each directory that it has to make. The temporary file is named
  /// `.mdstream-<maker><sixteen digits>.tmp`.
  template <class Made>
  replacement_file(std::string path, const Made& made, std::string_view maker = "")
      : path_(std::move(path)), directory_(parent_of(path_)) {
    do {  // who cleans up at this moment may come between making and locking
      temporary_ = directory_ + "/.mdstream-" + std::string(maker) + unique_name() + ".tmp";
      fd_ = open_in_directory(made);
      (void)::flock(fd_.get(), LOCK_EX);  // without locks, nobody cleans up
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
  void reserve(std::uint64_t bytes) const {
#ifdef FALLOC_FL_KEEP_SIZE
    if (::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0 &&
        (errno == ENOSPC || errno == EDQUOT)) {
      throw system_failure(errno, "cannot reserve the place of", path_);
    }
#else
    (void)bytes;
#endif
  }

  void append(bytes_view bytes) {
    write_at(fd_.get(), size_, bytes, path_);
    size_ += bytes.size();
  }

  void publish(durability wanted) {
    if (wanted == durability::flushed) make_durable(fd_.get(), path_);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      throw system_failure(errno, "cannot rename a temporary file to", path_);
    }
    fd_.reset();
    if (wanted == durability::flushed) make_directory_durable(directory_);
  }

 private:
  /// Most files go where there are others: the directory is made where one is missing.
  template <class Made>
  [[nodiscard]] unique_fd open_in_directory(const Made& made) const {
    constexpr int flags = O_WRONLY | O_CREAT | O_EXCL;
    if (unique_fd fd = try_open(temporary_, flags, 0666); fd) return fd;
    if (errno != ENOENT && errno != ENOTDIR) throw system_failure(errno, "cannot open", temporary_);
    if (const int failure = make_directories(directory_, made); failure != 0) {
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

}  // namespace detail

}  // namespace mdstream::inline v0
