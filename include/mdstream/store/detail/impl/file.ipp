#pragma once

#include <mdstream/core/detail/chance.hpp>
#include <mdstream/core/detail/descriptors.hpp>
#include <mdstream/core/detail/process.hpp>
#include <mdstream/store/detail/file.hpp>
#include <mdstream/version.hpp>

#include <algorithm>
#include <atomic>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

MDSTREAM_INLINE void unique_fd::reset() noexcept {
  if (fd_ >= 0) detail::own_descriptors::close(fd_);
  fd_ = -1;
}

}  // namespace mdstream::inline v0::detail

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE unique_fd try_open(const std::string& path, int flags, mode_t mode) noexcept {
  return unique_fd(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); }));
}

MDSTREAM_INLINE unique_fd open_file(const std::string& path, int flags, mode_t mode) {
  unique_fd fd = try_open(path, flags, mode);
  if (!fd) throw system_failure(errno, "cannot open", path);
  return fd;
}

MDSTREAM_INLINE unique_fd open_if_there(const std::string& path, int flags) {
  unique_fd fd = try_open(path, flags);
  if (!fd && errno != ENOENT && errno != ENOTDIR) throw system_failure(errno, "cannot open", path);
  return fd;
}

MDSTREAM_INLINE std::uint64_t file_size(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) throw system_failure(errno, "cannot read the size of", path);
  if (!S_ISREG(info.st_mode)) {
    throw error(errc::io_error, {.what = "is not a regular file", .url = path});
  }
  return static_cast<std::uint64_t>(info.st_size);
}

MDSTREAM_INLINE struct stat stat_of(int fd, const std::string& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) throw system_failure(errno, "cannot read the state of", path);
  return info;
}

MDSTREAM_INLINE file_state::file_state(int fd, const std::string& path)
    : file_state(stat_of(fd, path)) {}

MDSTREAM_INLINE file_state::file_state(const struct stat& info) {
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

MDSTREAM_INLINE std::string file_state::tag() const {
  std::string out;
  // Not the device, whose number is another one on each machine that mounts a file system.
  for (std::size_t i = 0; i < of_.size(); ++i)
    if (i != 1) out += hex_digits(of_[i]);
  return out;
}

MDSTREAM_INLINE bool file_state::has_bytes_of(const file_state& other) const noexcept {
  return std::equal(of_.begin(), of_.begin() + 5, other.of_.begin());
}

MDSTREAM_INLINE void file_state::fail(const std::string& path) {
  throw error(errc::corrupt,
              {.what = "the file was changed while it was read", .url = path, .is_final = true});
}

MDSTREAM_INLINE std::optional<std::size_t> try_read_at(int fd, std::uint64_t offset,
                                                       mutable_bytes into) noexcept {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t got = uninterrupted([&] {
      return ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
    });
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

MDSTREAM_INLINE std::size_t read_at(int fd, std::uint64_t offset, mutable_bytes into,
                                    const std::string& path) {
  const std::optional<std::size_t> got = try_read_at(fd, offset, into);
  if (!got) throw system_failure(errno, "cannot read", path);
  return *got;
}

MDSTREAM_INLINE std::string read_unsized(int fd) {
  std::string text;
  std::array<char, 4096> piece;
  ssize_t got = 1;
  while (got > 0 && text.size() < std::size_t{1} << 20) {
    got = uninterrupted([&] { return ::read(fd, piece.data(), piece.size()); });
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return text;
}

MDSTREAM_INLINE std::string read_unsized(const std::string& path) {
  const unique_fd fd = try_open(path, O_RDONLY);
  if (!fd && lacks_descriptors(errno)) throw system_failure(errno, "cannot open", path);
  return fd ? read_unsized(fd.get()) : std::string();
}

MDSTREAM_INLINE bool try_write_at(int fd, std::uint64_t offset, bytes_view bytes) noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = uninterrupted([&] {
      return ::pwrite(fd, bytes.data() + done, bytes.size() - done,
                      static_cast<off_t>(offset + done));
    });
    if (put < 0) return false;
    done += static_cast<std::size_t>(put);
  }
  return true;
}

MDSTREAM_INLINE void write_at(int fd, std::uint64_t offset, bytes_view bytes,
                              const std::string& path) {
  if (!try_write_at(fd, offset, bytes)) throw system_failure(errno, "cannot write", path);
}

/// Calls `reserve(offset, bytes)`, which returns 0 or errno, for a whole file if it can be done at
/// once. Older kernels undo what a signal interrupts in memory (/dev/shm): a reservation that
/// takes longer than a timer's signals are apart never ended there. So the pieces get smaller.
template <class Reserve>
[[nodiscard]] int reserve_in_pieces(std::uint64_t bytes, const Reserve& reserve) noexcept {
  constexpr std::uint64_t least = 4096;
  for (std::uint64_t done = 0, piece = bytes; done < bytes;) {
    piece = std::min(piece, bytes - done);
    const int failure = reserve(static_cast<off_t>(done), static_cast<off_t>(piece));
    if (failure != 0 && failure != EINTR) return failure;
    if (failure == 0)
      done += piece;
    else
      piece = std::max(piece / 2, least);
  }
  return 0;
}

MDSTREAM_INLINE int reserve_file(int fd, std::uint64_t bytes) noexcept {
  return reserve_in_pieces(
      bytes, [fd](off_t offset, off_t size) { return ::posix_fallocate(fd, offset, size); });
}

MDSTREAM_INLINE void cut_file(int fd, std::uint64_t bytes, const std::string& path) {
  if (uninterrupted([&] { return ::ftruncate(fd, static_cast<off_t>(bytes)); }) != 0)
    throw system_failure(errno, "cannot cut", path);
}

MDSTREAM_INLINE int lock_descriptor(int fd, int how) noexcept {
  return uninterrupted([&] { return ::flock(fd, how); });
}

MDSTREAM_INLINE std::string parent_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

MDSTREAM_INLINE void share_as_parent(const std::string& path, int fd) {
  struct stat own{}, parent{};
  if (::fstat(fd, &own) != 0 || own.st_uid != ::geteuid()) return;
  const mode_t all = S_ISDIR(own.st_mode) ? 0777 : 0666;
  if ((own.st_mode & all) == all || ::stat(parent_of(path).c_str(), &parent) != 0) return;
  const mode_t wanted = (own.st_mode | (parent.st_mode & all)) & 07777;
  if (wanted != (own.st_mode & 07777)) (void)!::fchmod(fd, wanted);
}

MDSTREAM_INLINE int make_shared_directories(const std::string& path) {
  return make_directories(path, [](const std::string& made) {
    if (const unique_fd fd = try_open(made, O_RDONLY | O_DIRECTORY))
      share_as_parent(made, fd.get());
  });
}

MDSTREAM_INLINE std::uint64_t unique_number() {
  static std::atomic<std::uint64_t> counter{random_bits()};
  static std::atomic<pid_t> owner{::getpid()};
  if (const pid_t self = ::getpid(); owner.exchange(self, std::memory_order_relaxed) != self)
    counter.store(random_bits(), std::memory_order_relaxed);
  return counter.fetch_add(1, std::memory_order_relaxed);
}

MDSTREAM_INLINE void make_durable(int fd, const std::string& path) {
  if (uninterrupted([&] { return ::fsync(fd); }) != 0 && errno != EINVAL && errno != EROFS) {
    throw system_failure(errno, "cannot flush", path);
  }
}

MDSTREAM_INLINE void make_directory_durable(const std::string& path) {
  const unique_fd fd = open_file(path, O_RDONLY | O_DIRECTORY);
  make_durable(fd.get(), path);
}

MDSTREAM_INLINE bool is_linked(int fd) noexcept {
  struct stat info{};
  // ESTALE: another machine deleted it. All else, such as a failing disk, says nothing of its name.
  return ::fstat(fd, &info) == 0 ? info.st_nlink > 0 : errno != ESTALE;
}

MDSTREAM_INLINE void replacement_file::reserve(std::uint64_t bytes) const {
#ifdef FALLOC_FL_KEEP_SIZE
  const int failure = reserve_in_pieces(bytes, [fd = fd_.get()](off_t offset, off_t size) {
    return ::fallocate(fd, FALLOC_FL_KEEP_SIZE, offset, size) == 0 ? 0 : errno;
  });
  if (failure == ENOSPC || failure == EDQUOT)
    throw system_failure(failure, "cannot reserve the place of", path_);
#else
  (void)bytes;
#endif
}

MDSTREAM_INLINE void replacement_file::append(bytes_view bytes) {
  write_at(fd_.get(), size_, bytes, path_);
  size_ += bytes.size();
}

MDSTREAM_INLINE void replacement_file::publish(durability wanted) {
  if (wanted == durability::flushed) make_durable(fd_.get(), path_);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw system_failure(errno, "cannot rename a temporary file to", path_);
  }
  fd_.reset();
  if (wanted == durability::flushed) make_directory_durable(directory_);
}

MDSTREAM_INLINE bool replacement_file::create() {
  make_durable(fd_.get(), path_);
  if (::link(temporary_.c_str(), path_.c_str()) != 0) {
    if (errno == EEXIST) return false;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS)
      throw system_failure(errno, "cannot link a temporary file to", path_);
    throw error(errc::unsupported, {.what = "the file system has no hard links", .url = path_});
  }
  try {
    make_directory_durable(directory_);
  } catch (...) {
    ::unlink(path_.c_str());  // a process that finds it takes it for created
    throw;
  }
  return true;
}

}  // namespace mdstream::inline v0::detail
