#pragma once

/// A file in the making: room on the disk taken in advance, mapped for writing, renamed to its name
/// when it is complete.

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
#include <string>
#include <utility>

namespace mdstream::inline v0 {

/// A new file of a fixed size, writable through its mapping. Its blocks are reserved when it is
/// made, so that a full disk is an error there (`errc::no_space`) and not a signal later. A file
/// that was not published is deleted with its object.
///
/// It is filled with zeros by large writes before it is mapped: so the page cache takes it in large
/// pieces, where a page fault for every 4 KiB of a file without content costs four times as much
/// as both together (docs/performance.md).
class temporary_file {
 public:
  /// Creates `path`, which must not exist, with `size` > 0 bytes.
  temporary_file(std::string path, std::size_t size) : path_(std::move(path)), size_(size) {
    const unique_fd fd = detail::open_file(path_, O_RDWR | O_CREAT | O_EXCL);
    try {
      if (const int failure = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size));
          failure != 0) {
        throw system_failure(failure, "cannot reserve " + std::to_string(size) + " bytes for",
                             path_);
      }
      fill(fd.get());
      void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
      if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path_);
      base_ = static_cast<std::byte*>(at);
    } catch (...) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  temporary_file(temporary_file&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        base_(std::exchange(other.base_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  temporary_file& operator=(temporary_file&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~temporary_file() {
    if (base_ != nullptr) ::munmap(base_, size_);
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  [[nodiscard]] mutable_bytes bytes() noexcept { return {base_, size_}; }

  /// Cuts the file to `size` > 0 bytes, no more than it has.
  void shrink(std::size_t size) {
    if (size == size_) return;
    if (::truncate(path_.c_str(), static_cast<off_t>(size)) != 0) {
      throw system_failure(errno, "cannot cut", path_);
    }
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t kept = (size + page - 1) / page * page;
    if (kept < size_) ::munmap(base_ + kept, size_ - kept);
    size_ = size;
  }

  /// Gives the file its final name, replacing what had it, and returns it mapped for reading.
  [[nodiscard]] file_mapping publish(const std::string& path) && {
    if (::mprotect(base_, size_, PROT_READ) != 0) throw system_failure(errno, "cannot map", path);
    if (::rename(path_.c_str(), path.c_str()) != 0) {
      throw system_failure(errno, "cannot rename a temporary file to", path);
    }
    path_.clear();
    return file_mapping::adopt(std::exchange(base_, nullptr), std::exchange(size_, 0));
  }

 private:
  void fill(int fd) const {
    static constexpr std::size_t piece = std::size_t{256} << 10;
    static constexpr std::byte zeros[piece] = {};
    for (std::size_t at = 0; at < size_; at += piece) {
      detail::write_at(fd, at, bytes_view(zeros, std::min(piece, size_ - at)), path_);
    }
  }

  std::string path_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace mdstream::inline v0
