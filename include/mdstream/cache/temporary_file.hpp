#pragma once

/// A file in the making: room on the disk taken in advance, renamed to its name when it is
/// complete.

#include <mdstream/cache/mapping.hpp>
#include <mdstream/core/bytes.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/store/file.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace mdstream::inline v0 {

/// A new file of a fixed size. Its blocks are reserved when it is made, so that a full disk is an
/// error there (`errc::no_space`) and not a signal later. A file that was not published is deleted
/// with its object.
///
/// Its bytes come in one of two ways. Those that arrive piece by piece are `put`: the page cache
/// takes in pieces of some hundred KiB as large ones, and each byte is written once. What needs
/// memory to write to gets the file `mapped` when it is made; it is filled with zeros by large
/// writes before, because a page fault for every 4 KiB of a file without content costs four times
/// as much as both together (docs/performance.md).
class temporary_file {
 public:
  /// Creates `path`, which must not exist, with `size` bytes.
  temporary_file(std::string path, std::size_t size)
      : path_(std::move(path)),
        size_(size),
        fd_(detail::open_file(path_, O_RDWR | O_CREAT | O_EXCL)) {
    detail::share_as_parent(path_, fd_.get());
    if (size == 0) return;  // which posix_fallocate refuses
    if (const int failure = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(size));
        failure != 0) {
      ::unlink(path_.c_str());
      throw system_failure(failure, "cannot reserve " + std::to_string(size) + " bytes for", path_);
    }
  }
  /// The same, and the file as memory to write to, which stays where it is while the file is moved,
  /// until it is cut off, published or deleted.
  [[nodiscard]] static std::pair<temporary_file, mutable_bytes> mapped(std::string path,
                                                                       std::size_t size) {
    temporary_file made(std::move(path), size);
    made.fill();
    made.map(PROT_READ | PROT_WRITE);
    const mutable_bytes bytes(made.base_, size);
    return {std::move(made), bytes};
  }
  temporary_file(temporary_file&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        size_(std::exchange(other.size_, 0)),
        fd_(std::move(other.fd_)),
        base_(std::exchange(other.base_, nullptr)) {}
  temporary_file& operator=(temporary_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(size_, other.size_);
    std::swap(fd_, other.fd_);
    std::swap(base_, other.base_);
    return *this;
  }
  ~temporary_file() {
    if (base_ != nullptr) ::munmap(base_, size_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Writes `bytes` at `offset`; together they end within the file. Different places may be written
  /// from several threads at a time.
  void put(std::uint64_t offset, bytes_view bytes) const {
    detail::write_at(fd_.get(), offset, bytes, path_);
  }

  /// The file for reading, mapped from the first call on. Sees what is `put` later, too.
  [[nodiscard]] bytes_view view() {
    if (base_ == nullptr) map(PROT_READ);
    return {base_, size_};
  }

  /// Cuts the file to `size` bytes, no more than it has.
  void shrink(std::size_t size) {
    if (size == size_) return;
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
      throw system_failure(errno, "cannot cut", path_);
    }
    const std::size_t kept = file_mapping::whole_pages(size);
    if (base_ != nullptr && kept < size_) ::munmap(base_ + kept, size_ - kept);
    if (size == 0) base_ = nullptr;
    size_ = size;
  }

  /// Gives the file its final name, replacing what had it, and returns it mapped for reading.
  [[nodiscard]] file_mapping publish(const std::string& path) && {
    (void)view();
    if (base_ != nullptr && ::mprotect(base_, size_, PROT_READ) != 0) {
      throw system_failure(errno, "cannot map", path);
    }
    if (::rename(path_.c_str(), path.c_str()) != 0) {
      throw system_failure(errno, "cannot rename a temporary file to", path);
    }
    path_.clear();
    fd_.reset();
    file_mapping whole =
        file_mapping::adopt(std::exchange(base_, nullptr), std::exchange(size_, 0));
    if (!whole.bytes().empty()) {
      detail::mapped_files::instance().add(whole.bytes().data(), whole.bytes().size(), path);
    }
    return whole;
  }

 private:
  void map(int protection) {
    if (size_ == 0) return;
    void* const at = ::mmap(nullptr, size_, protection, MAP_SHARED, fd_.get(), 0);
    if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path_);
    base_ = static_cast<std::byte*>(at);
  }

  void fill() const {
    static constexpr std::size_t piece = std::size_t{256} << 10;
    static constexpr std::byte zeros[piece] = {};
    for (std::size_t at = 0; at < size_; at += piece) {
      put(at, bytes_view(zeros, std::min(piece, size_ - at)));
    }
  }

  std::string path_;
  std::size_t size_ = 0;
  unique_fd fd_;
  std::byte* base_ = nullptr;  // of the mapping, where there is one
};

}  // namespace mdstream::inline v0
