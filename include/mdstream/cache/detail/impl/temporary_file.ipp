#pragma once

#include <mdstream/cache/detail/temporary_file.hpp>
#include <mdstream/core/error.hpp>
#include <mdstream/version.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

namespace mdstream::inline v0::detail {

MDSTREAM_INLINE temporary_file::temporary_file(std::string path, std::size_t size)
    : path_(std::move(path)),
      size_(size),
      fd_(detail::open_file(path_, O_RDWR | O_CREAT | O_EXCL)) {
  try {
    detail::share_as_parent(path_, fd_.get());
    if (const int failure = detail::reserve_file(fd_.get(), size); failure != 0)
      throw system_failure(failure, "cannot reserve " + std::to_string(size) + " bytes for", path_);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

MDSTREAM_INLINE temporary_file::temporary_file(temporary_file&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      size_(std::exchange(other.size_, 0)),
      fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)) {}

MDSTREAM_INLINE temporary_file& temporary_file::operator=(temporary_file&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(size_, other.size_);
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  return *this;
}

MDSTREAM_INLINE temporary_file::~temporary_file() {
  if (base_ != nullptr) ::munmap(base_, size_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

MDSTREAM_INLINE mutable_bytes temporary_file::memory() {
  if (base_ == nullptr) {
    fill();
    map(PROT_READ | PROT_WRITE);
  }
  return {base_, size_};
}

MDSTREAM_INLINE bytes_view temporary_file::view() {
  if (base_ == nullptr) map(PROT_READ);
  return {base_, size_};
}

MDSTREAM_INLINE void temporary_file::resize(std::size_t size) {
  if (size == size_) return;
  detail::cut_file(fd_.get(), size, path_);
  const std::size_t kept = file_mapping::whole_pages(size);
  if (base_ != nullptr && kept < size_) ::munmap(base_ + kept, size_ - kept);
  if (size == 0) base_ = nullptr;
  size_ = size;
}

MDSTREAM_INLINE file_mapping temporary_file::publish(const std::string& path) && {
  (void)view();
  if (base_ != nullptr && ::mprotect(base_, size_, PROT_READ) != 0) {
    throw system_failure(errno, "cannot map", path);
  }
  if (::rename(path_.c_str(), path.c_str()) != 0) {
    throw system_failure(errno, "cannot rename a temporary file to", path);
  }
  path_.clear();
  fd_.reset();
  file_mapping whole = file_mapping::adopt(std::exchange(base_, nullptr), std::exchange(size_, 0));
  if (!whole.bytes().empty()) {
    detail::mapped_files::instance().add(whole.bytes().data(), whole.bytes().size(), path);
  }
  return whole;
}

MDSTREAM_INLINE void temporary_file::map(int protection) {
  if (size_ == 0) return;
  void* const at = ::mmap(nullptr, size_, protection, MAP_SHARED, fd_.get(), 0);
  if (at == MAP_FAILED) throw system_failure(errno, "cannot map", path_);
  base_ = static_cast<std::byte*>(at);
}

MDSTREAM_INLINE void temporary_file::fill() const {
  static constexpr std::size_t piece = std::size_t{256} << 10;
  static constexpr std::byte zeros[piece] = {};
  for (std::size_t at = 0; at < size_; at += piece) {
    put(at, bytes_view(zeros, std::min(piece, size_ - at)));
  }
}

}  // namespace mdstream::inline v0::detail
